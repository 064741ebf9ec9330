//! The crate h2 by itself, which uses tokio's traits (feature `tokio-io`).

use gmp::go;
use gmp::net::UnixStream;
use h2::{RecvStream, client, server};
use hyper::body::Bytes;
use hyper::{HeaderMap, Request, Response};

/// Reads the whole body and releases the flow-control capacity.
async fn read_all(body: &mut RecvStream) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(data) = body.data().await {
        let data = data.unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        all.extend_from_slice(&data);
    }
    all
}

async fn serve(stream: UnixStream) {
    let mut connection = server::handshake(stream).await.unwrap();
    while let Some(accepted) = connection.accept().await {
        let (request, mut respond) = accepted.unwrap();
        go!(async move {
            let body = read_all(&mut request.into_body()).await;
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(body.into(), false).unwrap();
            let mut trailers = HeaderMap::new();
            trailers.insert("at", "the-end".parse().unwrap());
            send.send_trailers(trailers).unwrap();
        });
    }
}

#[gmp::test]
async fn streams_of_h2_work_without_hyper() {
    let (stream, other) = UnixStream::pair().unwrap();
    let server = go!(serve(other));
    let (sender, connection) = client::handshake(stream).await.unwrap();
    let connection = go!(connection);
    let streams: Vec<_> = (0..30)
        .map(|n| {
            let sender = sender.clone();
            go!(async move {
                let mut sender = sender.ready().await.unwrap();
                let asked = Request::post("http://localhost/").body(()).unwrap();
                let (response, mut send) = sender.send_request(asked, false).unwrap();
                let body = vec![n as u8; n * 10_000];
                send.send_data(Bytes::from(body.clone()), true).unwrap();
                let mut answer = response.await.unwrap().into_body();
                assert!(read_all(&mut answer).await == body, "stream {n}");
                assert_eq!(answer.trailers().await.unwrap().unwrap()["at"], "the-end");
            })
        })
        .collect();
    for stream in streams {
        stream.await.unwrap();
    }
    drop(sender);
    connection.await.unwrap().unwrap();
    server.await.unwrap();
}
