//! Each example is started as a program of its own and driven by others' clients: curl, hyper, rustls,
//! tungstenite. Without curl its part is left out, loudly.

mod axum;
mod client;
mod curl;
mod grpc;
mod h2;
mod http;
mod http2;
mod no_tokio;
mod server;
mod tls;
mod websocket;
