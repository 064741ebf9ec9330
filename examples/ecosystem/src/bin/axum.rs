//! An axum router with state, JSON and a time limit: `cargo run --release -p gmp-ecosystem --bin
//! axum`, then `curl --json '{"text": "buy milk"}' http://127.0.0.1:8080/notes` and `curl
//! http://127.0.0.1:8080/notes/1`. An argument sets the address to listen at.
//!
//! `axum::serve` needs Tokio. The router itself is a tower service, which hyper serves.

use axum::extract::{Path, Request, State};
use axum::http::StatusCode;
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use gmp::compat::hyper::{Executor, Timer};
use gmp::go;
use gmp::net::TcpListener;
use gmp::sync::Mutex;
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(1);

#[derive(Clone, Serialize, Deserialize)]
struct Note {
    text: String,
}

type Notes = Arc<Mutex<Vec<Note>>>;

async fn hello(Path(name): Path<String>) -> String {
    format!("Hello, {name}!\n")
}

async fn add(State(notes): State<Notes>, Json(note): Json<Note>) -> impl IntoResponse {
    let mut notes = notes.lock().await;
    notes.push(note);
    (StatusCode::CREATED, [("location", format!("/notes/{}", notes.len()))])
}

async fn read(State(notes): State<Notes>, Path(n): Path<usize>) -> Result<Json<Note>, StatusCode> {
    let notes = notes.lock().await;
    let note = n.checked_sub(1).and_then(|n| notes.get(n));
    note.cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

/// Drops a handler that takes longer than `LIMIT`.
async fn limit(request: Request, next: Next) -> Response {
    match gmp::timeout(LIMIT, next.run(request)).await {
        Ok(response) => response,
        Err(_late) => (StatusCode::GATEWAY_TIMEOUT, "it took too long\n").into_response(),
    }
}

fn router() -> Router {
    Router::new()
        .route("/hello/{name}", get(hello))
        .route("/notes", post(add))
        .route("/notes/{n}", get(read))
        .route("/forever", get(std::future::pending::<()>))
        .layer(middleware::from_fn(limit))
        .with_state(Notes::default())
}

#[gmp::main]
async fn main() -> std::io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let listener = TcpListener::bind(addr).await?;
    println!("listening at http://{}", listener.local_addr()?);
    let mut http = auto::Builder::new(Executor);
    http.http1().timer(Timer).header_read_timeout(Duration::from_secs(30));
    http.http2().timer(Timer);
    let service = TowerToHyperService::new(router());
    loop {
        let (stream, _peer) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let connection = http.serve_connection_with_upgrades(stream, service.clone()).into_owned();
        go!(async move {
            if let Err(error) = connection.await {
                eprintln!("connection: {error}");
            }
        });
    }
}
