struct Mailbox;

impl Mailbox {
    async fn send(&self, _letter: impl Fn() -> u32) {}
}

fn mailbox() -> &'static Mailbox {
    &Mailbox
}

async fn wrong(mail: Mailbox) {
    gmp::select! {
        _ = mail.send(|| 1) => {}
        _ = mailbox().send(|| 2) => {}
    }
}

fn main() {}
