//! `gmp::compat::tokio::axum::serve`: each connection is a goroutine, on sockets of either.

use crate::LONG;
use crate::server::Server;
use gmp::go;
use reqwest::Client;
use serde_json::json;
use std::net::TcpStream;

/// Starts the program on sockets of gmp or of Tokio.
fn start(sockets: &str) -> Server {
    Server::start(env!("CARGO_BIN_EXE_axum_serve"), &[sockets])
}

const SOCKETS: [&str; 2] = ["gmp", "tokio"];

fn client() -> Client {
    Client::builder().timeout(LONG).build().unwrap()
}

async fn get(client: &Client, url: String) -> (u16, String) {
    let response = client.get(url).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

#[gmp::test(tokio)]
async fn paths_state_and_json_work() {
    for sockets in SOCKETS {
        let (server, client) = (start(sockets), client());
        assert_eq!(get(&client, server.url("/hello/a%20b")).await.1, "Hello, a b!\n");
        let post = client.post(server.url("/notes")).json(&json!({ "text": "milk" }));
        let created = post.send().await.unwrap();
        assert_eq!(
            (created.status().as_u16(), created.text().await.unwrap().as_str()),
            (201, "1\n")
        );
        assert_eq!(get(&client, server.url("/notes/1")).await.1, r#"{"text":"milk"}"#);
        assert_eq!(get(&client, server.url("/notes/2")).await.0, 404);
    }
}

#[gmp::test(tokio)]
async fn a_handler_is_a_goroutine_and_knows_its_client() {
    for sockets in SOCKETS {
        let server = start(sockets);
        let clients = [client(), client()];
        let mut goroutines = Vec::new();
        for client in &clients {
            let first = get(client, server.url("/inside")).await;
            assert!(first.0 == 200 && first.1.contains("serves 127.0.0.1:"), "{first:?}");
            // The connection is kept, and its goroutine too.
            assert_eq!(get(client, server.url("/inside")).await, first);
            goroutines.push(first.1);
        }
        assert_ne!(goroutines[0], goroutines[1], "one for each connection");
    }
}

/// On Tokio's single worker the blocked handlers would run one after the other.
#[gmp::test(tokio)]
async fn handlers_that_block_delay_no_other_handler() {
    for sockets in SOCKETS {
        let server = start(sockets);
        let blocked = (0..20).map(|_| {
            let (client, url) = (client(), server.url("/block/60000"));
            go!(async move { get(&client, url).await })
        });
        let blocked: Vec<_> = blocked.collect();
        let other = client();
        for n in 0..20 {
            let url = server.url(&format!("/hello/{n}"));
            assert_eq!(get(&other, url).await.1, format!("Hello, {n}!\n"));
        }
        assert!(blocked.iter().all(|request| !request.is_finished()));
        blocked.iter().for_each(gmp::JoinHandle::abort);
    }
}

/// The streams of an HTTP/2 connection are goroutines too.
#[gmp::test(tokio)]
async fn http2_streams_run_concurrently() {
    for sockets in SOCKETS {
        let server = start(sockets);
        let client = Client::builder().http2_prior_knowledge().timeout(LONG).build().unwrap();
        let blocked = client.get(server.url("/block/60000")).send();
        let blocked = go!(blocked);
        let streams = (0..50).map(|n| {
            let (client, url) = (client.clone(), server.url(&format!("/hello/{n}")));
            go!(async move { get(&client, url).await.1 })
        });
        for (n, stream) in streams.collect::<Vec<_>>().into_iter().enumerate() {
            assert_eq!(stream.await.unwrap(), format!("Hello, {n}!\n"));
        }
        assert!(!blocked.is_finished());
        blocked.abort();
    }
}

#[gmp::test(tokio)]
async fn sigterm_ends_the_program() {
    for sockets in SOCKETS {
        let (mut server, client) = (start(sockets), client());
        // An idle connection does not hold the server.
        assert_eq!(get(&client, server.url("/hello/you")).await.0, 200);
        server.terminate();
        let addr = server.addr();
        let status = gmp::block_in_place(|| server.wait());
        assert!(status.success(), "{status}");
        assert!(TcpStream::connect(addr).is_err());
    }
}

mod in_process {
    use super::{client, get};
    use axum::Router;
    use axum::routing::get as on_get;
    use gmp::compat::tokio::axum::serve;
    use std::io;
    use std::time::Duration;

    fn app() -> Router {
        Router::new().route("/", on_get(|| async { "Hello!" }))
    }

    #[gmp::test(tokio)]
    async fn graceful_shutdown_finishes_the_requests_that_have_begun() -> io::Result<()> {
        let (begun, begins) = gmp::chan(1);
        let (release, released) = gmp::chan(1);
        let slow = on_get(move || {
            let (begun, released) = (begun.clone(), released.clone());
            async move {
                begun.send(()).await.unwrap();
                released.recv().await.unwrap();
                "done"
            }
        });
        let (stop, stopped) = gmp::chan(1);
        let stopped = async move { stopped.recv().await.unwrap() };
        let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await?;
        let addr = listener.local_addr()?;
        let server = serve(listener, app().route("/slow", slow)).with_graceful_shutdown(stopped);
        let server = gmp::spawn(server);

        let (idle, busy) = (client(), client());
        assert_eq!(get(&idle, format!("http://{addr}/")).await.1, "Hello!");
        let slow = gmp::go!(async move { get(&busy, format!("http://{addr}/slow")).await.1 });
        begins.recv().await.unwrap();
        stop.send(()).await.unwrap();
        while gmp::net::TcpStream::connect(addr).await.is_ok() {
            gmp::sleep(Duration::from_millis(1)).await;
        }
        assert!(!server.is_finished() && !slow.is_finished());
        release.send(()).await.unwrap();
        assert_eq!(slow.await.unwrap(), "done");
        server.await.unwrap()
    }

    /// Tokio's listener returns an error when its runtime has ended, and so does the server.
    #[gmp::test]
    async fn the_end_of_tokio_ends_the_server() {
        let tokio = tokio::runtime::Runtime::new().unwrap();
        let listener = tokio.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let server = gmp::spawn(serve(listener, app()).into_future());
        gmp::block_in_place(|| drop(tokio));
        let error = server.await.unwrap().unwrap_err();
        assert!(tokio::runtime::is_rt_shutdown_err(&error), "{error}");
    }

    #[gmp::test(tokio)]
    async fn a_dropped_server_ends_its_connections() -> io::Result<()> {
        let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let server = gmp::spawn(serve(listener, app()).into_future());
        let client = client();
        assert_eq!(get(&client, url.clone()).await.1, "Hello!");
        server.abort();
        assert!(server.await.unwrap_err().is_cancelled());
        // The kept connection closes too. A request that it has begun before is answered.
        let error = loop {
            match client.get(&url).send().await {
                Ok(response) => assert_eq!(response.status(), 200),
                Err(error) => break error,
            }
        };
        assert!(!error.is_timeout(), "{error:?}");
        Ok(())
    }

    /// On gmp's sockets a router needs no Tokio runtime at all.
    #[gmp::test]
    async fn no_tokio_runtime_is_necessary() -> io::Result<()> {
        let listener = gmp::net::TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        drop(gmp::spawn(serve(listener, app()).into_future()));
        let tokio = tokio::runtime::Runtime::new()?;
        let text = gmp::block_in_place(|| tokio.block_on(async { get(&client(), url).await.1 }));
        assert_eq!(text, "Hello!");
        Ok(())
    }
}

#[gmp::test(tokio)]
async fn unix_sockets_work() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let folder = crate::Folder::new("axum");
    for sockets in SOCKETS {
        let path = folder.file(sockets);
        let app = axum::Router::new().route("/", axum::routing::get(|| async { "Hello!" }));
        use gmp::compat::tokio::axum::serve;
        let server = if sockets == "gmp" {
            let listener = gmp::net::UnixListener::bind(&path).unwrap();
            gmp::spawn(serve(listener, app).into_future())
        } else {
            let listener = tokio::net::UnixListener::bind(&path).unwrap();
            gmp::spawn(serve(listener, app).into_future())
        };
        let mut stream = tokio::net::UnixStream::connect(&path).await.unwrap();
        let request = b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200") && response.ends_with("Hello!"), "{response}");
        server.abort();
    }
}
