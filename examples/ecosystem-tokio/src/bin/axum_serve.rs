//! An axum server whose connections are goroutines: `cargo run --release -p gmp-ecosystem-tokio
//! --bin axum_serve`, then `curl http://127.0.0.1:8080/hello/you`. The first argument sets the
//! address, `tokio` as the second one takes Tokio's listener in place of gmp's. SIGTERM ends the
//! server when its requests are finished.

use axum::extract::{ConnectInfo, Path, State};
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Extension, Json, Router};
use gmp::compat::tokio::axum::serve_with;
use gmp::signal::{SignalKind, signal};
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[derive(Clone, Serialize, Deserialize)]
struct Note {
    text: String,
}

type Notes = Arc<Mutex<Vec<Note>>>;

async fn hello(Path(name): Path<String>) -> String {
    format!("Hello, {name}!\n")
}

/// A handler is a goroutine, so it has an id.
async fn inside(ConnectInfo(peer): ConnectInfo<SocketAddr>) -> Result<String, StatusCode> {
    let id = gmp::goid().ok_or(StatusCode::INTERNAL_SERVER_ERROR)?;
    Ok(format!("goroutine {id} serves {peer}\n"))
}

/// Blocks its thread. The other handlers continue on other threads.
async fn block(Path(millis): Path<u64>) {
    std::thread::sleep(Duration::from_millis(millis));
}

/// Waits for a timer of Tokio.
async fn wait(Path(millis): Path<u64>) {
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

async fn add(State(notes): State<Notes>, Json(note): Json<Note>) -> (StatusCode, String) {
    let mut notes = notes.lock().unwrap();
    notes.push(note);
    (StatusCode::CREATED, format!("{}\n", notes.len()))
}

async fn read(State(notes): State<Notes>, Path(n): Path<usize>) -> Result<Json<Note>, StatusCode> {
    let notes = notes.lock().unwrap();
    n.checked_sub(1).and_then(|n| notes.get(n)).cloned().map(Json).ok_or(StatusCode::NOT_FOUND)
}

fn router() -> Router {
    Router::new()
        .route("/hello/{name}", get(hello))
        .route("/inside", get(inside))
        .route("/block/{millis}", get(block))
        .route("/wait/{millis}", get(wait))
        .route("/notes", post(add))
        .route("/notes/{n}", get(read))
        .with_state(Notes::default())
}

#[gmp::main(tokio)]
async fn main() -> io::Result<()> {
    let addr = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:8080".to_owned());
    let on_tokio = std::env::args().nth(2).as_deref() == Some("tokio");
    let mut terminated = signal(SignalKind::terminate())?;
    let end = async move { _ = terminated.recv().await };
    let app = router();
    let service = move |peer: &SocketAddr| app.clone().layer(Extension(ConnectInfo(*peer)));
    if on_tokio {
        let listener = tokio::net::TcpListener::bind(addr).await?;
        println!("listening at http://{}", listener.local_addr()?);
        serve_with(listener, service).with_graceful_shutdown(end).await
    } else {
        let listener = gmp::net::TcpListener::bind(addr).await?;
        println!("listening at http://{}", listener.local_addr()?);
        serve_with(listener, service).with_graceful_shutdown(end).await
    }
}
