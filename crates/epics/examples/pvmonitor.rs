//! Prints what pvAccess PVs send: `pvmonitor [--once] [--json] NAME…`, with the network set by `EPICS_PVA_*`.
//!
//! `--stdin` reads the names from standard input, one a line; `--once` ends after the first value of each; `--json`
//! prints one object a line, for programs; `--count` prints only, twice a second, how many PVs are connected and how
//! many updates came, for measurements.

use std::{
    collections::HashSet,
    io::{self, BufWriter, Write},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use epics::{
    Array, Description, Event, Key, Limits, Reading, Value,
    pva::{Client, Config, Data, Monitor, Tree, decode_structure},
};

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (options, names): (Vec<String>, Vec<String>) = std::env::args().skip(1).partition(|arg| arg.starts_with("--"));
    let names = if options.iter().any(|option| option == "--stdin") {
        io::read_to_string(io::stdin())?.lines().map(str::to_owned).collect()
    } else {
        names
    };
    let has = |name: &str| options.iter().any(|option| option == name);
    let config = Config::from_env(|key| std::env::var(key).ok())?;
    if has("--count") {
        return count(config, &names).await;
    }
    let (sender, events) = mpsc::channel();
    let client = Client::start(config, move |key, event| drop(sender.send((key, event))))?;
    subscribe(&client, &names);
    let (once, json) = (has("--once"), has("--json"));
    tokio::task::spawn_blocking(move || print(&names, &events, once, json)).await??;
    drop(client);
    Ok(())
}

fn subscribe(client: &Client, names: &[String]) {
    for (at, name) in names.iter().enumerate() {
        client.subscribe(Key(at as u64), name, Monitor::default());
    }
}

/// Events come faster than a terminal can show them, so that nothing is printed per event.
async fn count(config: Config, names: &[String]) -> Result<(), Box<dyn std::error::Error>> {
    let counts: Arc<[AtomicU64; 4]> = Arc::default();
    let counted = Arc::clone(&counts);
    let client = Client::start(config, move |_, event| {
        let kind = match event {
            Event::Connected { .. } => 0,
            Event::Updated(_) => 1,
            Event::Disconnected { .. } => 2,
            Event::Refused { .. } => 3,
            Event::Described(_) => return,
        };
        counted[kind].fetch_add(1, Ordering::Relaxed);
    })?;
    let begin = std::time::Instant::now();
    subscribe(&client, names);
    for round in 1_u32.. {
        tokio::time::sleep_until((begin + Duration::from_millis(500) * round).into()).await;
        let [connected, updated, lost, refused] = counts.each_ref().map(|count| count.load(Ordering::Relaxed));
        writeln!(
            io::stdout(),
            "{:.1} s: connected {connected}, updates {updated}, disconnected {lost}, refused {refused}, {:?}",
            begin.elapsed().as_secs_f64(),
            client.counters()
        )?;
    }
    Ok(())
}

#[derive(Default)]
struct Shown {
    description: Description,
    server: String,
}

fn print(names: &[String], events: &mpsc::Receiver<(Key, Event)>, once: bool, json: bool) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout());
    let mut shown: Vec<Shown> = names.iter().map(|_| Shown::default()).collect();
    let mut missing: HashSet<u64> = (0..names.len() as u64).collect();
    while let Ok((key, event)) = events.recv() {
        let (name, shown) = (&names[key.0 as usize], &mut shown[key.0 as usize]);
        match event {
            Event::Connected { server } => shown.server = server.to_string(),
            Event::Described(description) => shown.description = *description,
            Event::Updated(reading) if once && !missing.remove(&key.0) => drop(reading),
            Event::Updated(reading) if json => writeln!(out, "{}", object(name, &reading, shown))?,
            Event::Updated(reading) => writeln!(
                out,
                "{name} {}.{:09} {} {} {} {}",
                reading.seconds,
                reading.nanos,
                value(&reading.value).1,
                reading.severity,
                reading.status,
                reading.message.as_deref().unwrap_or_default()
            )?,
            Event::Disconnected { reason } => eprintln!("{name} disconnected: {reason}"),
            Event::Refused { message } => eprintln!("{name} refused: {message}"),
        }
        out.flush()?;
        if once && missing.is_empty() {
            return Ok(());
        }
    }
    Ok(())
}

fn object(name: &str, reading: &Reading, shown: &Shown) -> String {
    let (ty, text) = value(&reading.value);
    let d = &shown.description;
    let labels: Vec<String> = d.labels.iter().map(|label| string(label)).collect();
    let optional = |text: &Option<String>| text.as_ref().map_or("null".to_owned(), |text| string(text));
    format!(
        "{{\"name\":{},\"value\":{text},\"type\":\"{ty}\",\"seconds\":{},\"nanos\":{},\"severity\":{},\"status\":{},\"message\":{},\
         \"user_tag\":{},\"units\":{},\"precision\":{},\"description\":{},\"display\":{},\"control\":{},\"warning\":{},\"alarm\":{},\
         \"labels\":[{}],\"server\":{}}}",
        string(name),
        reading.seconds,
        reading.nanos,
        reading.severity,
        reading.status,
        reading.message.as_ref().map_or("null".to_owned(), |text| string(text)),
        reading.user_tag,
        optional(&d.units),
        d.precision.map_or("null".to_owned(), |digits| digits.to_string()),
        optional(&d.description),
        limits(d.display),
        limits(d.control),
        limits(d.warning),
        limits(d.alarm),
        labels.join(","),
        string(&shown.server),
    )
}

fn limits(limits: Option<Limits>) -> String {
    limits.map_or("null".to_owned(), |Limits { low, high }| format!("[{},{}]", number(low), number(high)))
}

fn string(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c => out.push(c),
        }
    }
    out + "\""
}

fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:?}") } else { format!("\"{v}\"") }
}

/// The name of the type, and the value in JSON.
fn value(value: &Value) -> (&'static str, String) {
    match value {
        Value::Bool(v) => ("bool", v.to_string()),
        Value::I8(v) => ("i8", v.to_string()),
        Value::U8(v) => ("u8", v.to_string()),
        Value::I16(v) => ("i16", v.to_string()),
        Value::U16(v) => ("u16", v.to_string()),
        Value::I32(v) => ("i32", v.to_string()),
        Value::U32(v) => ("u32", v.to_string()),
        Value::I64(v) => ("i64", v.to_string()),
        Value::U64(v) => ("u64", v.to_string()),
        Value::F32(v) => ("f32", number(f64::from(*v))),
        Value::F64(v) => ("f64", number(*v)),
        Value::Enum(v) => ("enum", v.to_string()),
        Value::String(v) => ("string", string(v)),
        Value::Array(elements) => array(elements),
        Value::Structure(bytes) => {
            ("structure", decode_structure(bytes).map_or("null".to_owned(), |data| whole(&data)))
        }
    }
}

fn array(elements: &Array) -> (&'static str, String) {
    fn list<T>(all: &[T], one: impl Fn(&T) -> String) -> String {
        format!("[{}]", all.iter().map(one).collect::<Vec<_>>().join(","))
    }
    match elements {
        Array::Bool(v) => ("bool[]", list(v, bool::to_string)),
        Array::I8(v) => ("i8[]", list(v, i8::to_string)),
        Array::U8(v) => ("u8[]", list(v, u8::to_string)),
        Array::I16(v) => ("i16[]", list(v, i16::to_string)),
        Array::U16(v) => ("u16[]", list(v, u16::to_string)),
        Array::I32(v) => ("i32[]", list(v, i32::to_string)),
        Array::U32(v) => ("u32[]", list(v, u32::to_string)),
        Array::I64(v) => ("i64[]", list(v, i64::to_string)),
        Array::U64(v) => ("u64[]", list(v, u64::to_string)),
        Array::F32(v) => ("f32[]", list(v, |v| number(f64::from(*v)))),
        Array::F64(v) => ("f64[]", list(v, |v| number(*v))),
        Array::Enum(v) => ("enum[]", list(v, i32::to_string)),
        Array::String(v) => ("string[]", list(v, |v| string(v))),
    }
}

fn whole(data: &Data) -> String {
    tree(&data.ty, &data.value)
}

fn tree(ty: &epics::pva::Type, value: &Tree) -> String {
    use epics::pva::Type;
    let many = |all: Vec<String>| format!("[{}]", all.join(","));
    let null = || "null".to_owned();
    match (ty, value) {
        (Type::Structure(s), Tree::Structure(trees)) => {
            let fields = s.fields().iter().zip(trees);
            let members: Vec<String> = fields.map(|(f, t)| format!("{}:{}", string(&f.name), tree(&f.ty, t))).collect();
            format!("{{{}}}", members.join(","))
        }
        (Type::StructureArray(s, _), Tree::Structures(all)) => {
            let one = Type::Structure(Arc::clone(s));
            let element = |trees: &Option<Vec<Tree>>| {
                trees.as_ref().map_or_else(null, |trees| tree(&one, &Tree::Structure(trees.clone())))
            };
            many(all.iter().map(element).collect())
        }
        (Type::Union(s), Tree::Union(Some(selected))) => {
            s.fields().get(selected.member).map_or_else(null, |field| tree(&field.ty, &selected.value))
        }
        (Type::UnionArray(s, _), Tree::Unions(all)) => {
            let one = Type::Union(Arc::clone(s));
            many(all.iter().map(|t| t.as_ref().map_or_else(null, |t| tree(&one, t))).collect())
        }
        (_, Tree::Any(Some(data))) => whole(data),
        (_, Tree::Anys(all)) => many(all.iter().map(|d| d.as_ref().map_or_else(null, whole)).collect()),
        (_, Tree::Array(elements)) => array(elements).1,
        (_, Tree::String(text)) => string(text),
        (_, Tree::Bool(v)) => v.to_string(),
        (_, Tree::U64(v)) => v.to_string(),
        (_, scalar) => scalar.as_i64().map_or_else(|| scalar.as_f64().map_or_else(null, number), |v| v.to_string()),
    }
}
