//! A writing half does not read, and offers nothing of the other direction.

async fn tcp(mut stream: gmp::net::TcpStream) -> std::io::Result<()> {
    let (_reader, writer) = stream.split();
    writer.read(&mut [0]).await?;
    let (_reader, writer) = stream.into_split();
    writer.read(&mut [0]).await?;
    writer.set_read_deadline(None);
    Ok(())
}

async fn unix(mut stream: gmp::net::UnixStream) -> std::io::Result<()> {
    let (_reader, writer) = stream.split();
    writer.read(&mut [0]).await?;
    let (_reader, writer) = stream.into_split();
    writer.read(&mut [0]).await?;
    Ok(())
}

fn main() {
    let _ = (tcp, unix);
}
