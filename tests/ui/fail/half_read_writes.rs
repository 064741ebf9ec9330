//! A reading half does not write, and offers nothing of the other direction.

async fn tcp(mut stream: gmp::net::TcpStream) -> std::io::Result<()> {
    let (reader, _writer) = stream.split();
    reader.write_all(b"x").await?;
    let (reader, _writer) = stream.into_split();
    reader.write_all(b"x").await?;
    reader.set_write_deadline(None);
    Ok(())
}

async fn unix(mut stream: gmp::net::UnixStream) -> std::io::Result<()> {
    let (reader, _writer) = stream.split();
    reader.write_all(b"x").await?;
    let (reader, _writer) = stream.into_split();
    reader.write_all(b"x").await
}

fn main() {
    let _ = (tcp, unix);
}
