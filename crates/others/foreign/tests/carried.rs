//! Channels with hints from ChannelFinder, and what becomes of them: the expected texts are to be read.

use foreign::{CarriedOver, marks, read_channels};
use proptest::prelude::*;

fn pvs(carried: &CarriedOver) -> Vec<String> {
    let one = |pv: &foreign::Pv| {
        let policy = pv.policy.as_deref().map(|policy| format!(" by {policy}")).unwrap_or_default();
        format!("{} {:?} [{}]{policy}", pv.name, pv.method, pv.groups.join(" "))
    };
    carried.pvs.iter().map(one).collect()
}

#[test]
fn hints_of_channel_finder_are_read() {
    let channel = |name: &str, hint: &str| {
        format!(
            r#"{{"name":"{name}","owner":"ioc","properties":[{{"name":"iocName","value":"i"}},{{"name":"archive","value":"{hint}"}}],"tags":[]}}"#
        )
    };
    let hints = [
        ("A", "monitor@1"),
        ("B", "scan@10"),
        ("C", "default"),
        ("D", "off"),
        ("E", "often"),
        ("F", "policy:RF"),
        ("pva://G", "monitor"),
        ("a b", "monitor"),
    ];
    let text = format!("[{},{{\"name\":\"X\"}}]", hints.map(|(name, hint)| channel(name, hint)).join(","));
    let (carried, channels) = read_channels("cf", &text, "archive").unwrap();
    let expected =
        ["A Some(Monitor) []", "B Some(Scan { period: 10s }) []", "C None []", "F None [] by RF", "G Some(Monitor) []"];
    assert_eq!((pvs(&carried), channels), (expected.map(str::to_owned).to_vec(), 9));
    assert_eq!(carried.notes.len(), 2);
    assert!(read_channels("cf", "<html>", "archive").is_err());
}

proptest! {
    /// Bytes that look a little like each of them.
    #[test]
    fn whatever_texts_are_they_do_not_panic(text in "([<>/!?\\[\\]a-c '\"=(){}:,.#\\\\\n0-9$\u{e9}]|<!--|-->|<a>|</a>|\"\"\"|if |def determinePolicy\\(\\):\n |['k'] = |pb://|\\$\\{){0,60}") {
        let _ = read_channels("f", &text, "archive");
        marks(&text);
    }
}
