//! gRPC's hello with tonic's own transport: `cargo run --release -p gmp-ecosystem-tokio --bin
//! tonic` is the server. With `http://127.0.0.1:50051 you` after `--` it is a client. tonic spawns
//! the connections on Tokio, and `gmp::spawn` in a handler starts a goroutine.
//!
//! The messages and the path are those of gRPC's `helloworld.proto`, written by hand, without the
//! protobuf compiler.

use std::convert::Infallible;
use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::http::{Request as HttpRequest, Response as HttpResponse};
use tonic::server::NamedService;
use tonic::transport::{Channel, Server};
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

/// Computes the greeting in a goroutine. There it could block its thread.
async fn say_hello(request: Request<HelloRequest>) -> Result<Response<HelloReply>, Status> {
    let name = request.into_inner().name;
    if name.is_empty() {
        return Err(Status::invalid_argument("the name is empty"));
    }
    let message = gmp::go!({ format!("Hello, {name}!") }).await;
    let message = message.map_err(|error| Status::internal(error.to_string()))?;
    Ok(Response::new(HelloReply { message }))
}

#[derive(Clone)]
struct Greeter;

impl NamedService for Greeter {
    const NAME: &'static str = "helloworld.Greeter";
}

impl tower::Service<HttpRequest<Body>> for Greeter {
    type Response = HttpResponse<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: HttpRequest<Body>) -> Self::Future {
        Box::pin(async move {
            if request.uri().path() != SAY_HELLO {
                return Ok(Status::unimplemented("no such method").into_http());
            }
            let mut grpc = tonic::server::Grpc::new(ProstCodec::default());
            Ok(grpc.unary(tower::service_fn(say_hello), request).await)
        })
    }
}

async fn ask(url: String, name: String) -> Result<String, Box<dyn Error + Send + Sync>> {
    let mut grpc = tonic::client::Grpc::new(Channel::from_shared(url)?.connect().await?);
    grpc.ready().await?;
    let codec = ProstCodec::<HelloRequest, HelloReply>::default();
    let request = Request::new(HelloRequest { name });
    let reply = grpc.unary(request, PathAndQuery::from_static(SAY_HELLO), codec).await?;
    Ok(reply.into_inner().message)
}

#[gmp::main(tokio)]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:50051".to_owned());
    let name = std::env::args().nth(2);
    if let Some(name) = name {
        println!("{}", ask(addr, name).await?);
        return Ok(());
    }
    let listener = TcpListener::bind(addr).await?;
    println!("listening at {}", listener.local_addr()?);
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    Ok(Server::builder().add_service(Greeter).serve_with_incoming(incoming).await?)
}
