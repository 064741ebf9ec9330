//! gRPC's hello with tonic, on hyper instead of tonic's own transport, which needs Tokio.
//!
//! `cargo run --release -p gmp-ecosystem --bin grpc` is the server. With `127.0.0.1:50051 you`
//! after `--` it is a client. The messages and the path are those of gRPC's `helloworld.proto`, so
//! clients in other languages work too. The two messages are written by hand, without the protobuf
//! compiler.

use gmp::compat::hyper::{Executor, Timer};
use gmp::go;
use gmp::net::{TcpListener, TcpStream};
use hyper::body::Incoming;
use hyper::http::uri::PathAndQuery;
use hyper::service::service_fn;
use hyper::{Uri, client, server};
use std::convert::Infallible;
use std::error::Error;
use std::time::Duration;
use tonic::body::Body;
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

const SAY_HELLO: &str = "/helloworld.Greeter/SayHello";

#[derive(Clone, PartialEq, prost::Message)]
struct HelloRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HelloReply {
    #[prost(string, tag = "1")]
    message: String,
}

async fn say_hello(request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
    match request.into_inner().name.as_str() {
        "" => Err(Status::invalid_argument("the name is empty")),
        name => Ok(Response::new(HelloReply { message: format!("Hello, {name}!") })),
    }
}

async fn route(request: hyper::Request<Incoming>) -> Result<hyper::Response<Body>, Infallible> {
    Ok(match request.uri().path() {
        SAY_HELLO => {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
            grpc.unary(tower::service_fn(say_hello), request).await
        }
        other => Status::unimplemented(format!("no method {other}")).into_http(),
    })
}

async fn serve(addr: &str) -> std::io::Result<()> {
    let listener = TcpListener::bind(addr).await?;
    println!("listening at {}", listener.local_addr()?);
    let mut http = server::conn::http2::Builder::new(Executor);
    http.timer(Timer).keep_alive_interval(Duration::from_secs(20));
    loop {
        let (stream, peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = http.serve_connection(stream, service_fn(route));
        go!(async move {
            if let Err(error) = connection.await {
                eprintln!("{peer}: {error}");
            }
        });
    }
}

async fn ask(addr: &str, name: String) -> Result<String, Box<dyn Error + Send + Sync>> {
    let stream = TcpStream::connect(addr).await?;
    stream.set_nodelay(true)?;
    let (sender, connection) = client::conn::http2::handshake(Executor, stream).await?;
    go!(connection);
    let channel = tower::service_fn(|request| sender.clone().send_request(request));
    let origin = Uri::builder().scheme("http").authority(addr).path_and_query("/").build()?;
    let mut grpc = tonic::client::Grpc::with_origin(channel, origin);
    let codec = ProstCodec::<HelloRequest, HelloReply>::default();
    let request = Request::new(HelloRequest { name });
    let reply = grpc.unary(request, PathAndQuery::from_static(SAY_HELLO), codec).await?;
    Ok(reply.into_inner().message)
}

#[gmp::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".to_owned());
    let name = std::env::args().nth(2);
    match name {
        Some(name) => println!("{}", ask(&addr, name).await?),
        None => serve(&addr).await?,
    }
    Ok(())
}
