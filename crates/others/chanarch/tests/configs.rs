//! Configurations of the Channel Archiver as they are in use, and what becomes of them: the expected texts are to be read.

use chanarch::{read_engine_config, read_list};
use foreign::CarriedOver;
use proptest::prelude::*;

fn pvs(carried: &CarriedOver) -> Vec<String> {
    let one = |pv: &foreign::Pv| {
        let policy = pv.policy.as_deref().map(|policy| format!(" by {policy}")).unwrap_or_default();
        format!("{} {:?} [{}]{policy}", pv.name, pv.method, pv.groups.join(" "))
    };
    carried.pvs.iter().map(one).collect()
}

fn notes(carried: &CarriedOver) -> Vec<String> {
    carried.notes.iter().map(|note| format!("{}:{} {}", note.file, note.line, note.text)).collect()
}

#[test]
fn lists_of_the_channel_archiver_are_read_with_their_groups() {
    let text = "# vacuum\r\n!write_period 30\n!default_period 2\n!group sub/rf.cfg\n!group gone.cfg\nVAC:P1 1.0 Monitor\nVAC:P2\n\
                VAC:ON 5 Disable\nRF:Q 10\n!strange 1\nbad\u{7}name 1\n";
    let mut load = |name: &str| match name {
        "sub/rf.cfg" => Ok("RF:Q 0.5\nRF:R 0.5 monitor disable # why\n!group vac.cfg\n".to_owned()),
        other => Err(format!("there is no {other}")),
    };
    let carried = read_list("vac.cfg", text, &mut load);
    let expected = [
        "VAC:P1 Some(Monitor) [vac]",
        "VAC:P2 Some(Scan { period: 2s }) [vac]",
        "VAC:ON Some(Scan { period: 5s }) [vac]",
        "RF:Q Some(Scan { period: 500ms }) [rf vac]",
        "RF:R Some(Monitor) [rf]",
    ];
    assert_eq!(pvs(&carried), expected);
    let expected = "\n[[group]]\nname = \"vac\"\ndisabled_by = [\"VAC:ON\"]\n\n[[group]]\nname = \"rf\"\ndisabled_by = [\"RF:R\"]\n";
    assert_eq!(carried.toml(), expected);
    let expected = [
        "vac.cfg:2 !write_period 30 is not needed: no buffer is sized by it here",
        "vac.cfg:5 the group gone.cfg is left out: there is no gone.cfg",
        "vac.cfg:10 !strange is no parameter that is known",
        "vac.cfg:11 \"bad\\u{7}name\" is left out: a PV name has no blanks or control characters, found '\\u{7}' at byte 3",
    ];
    assert_eq!(notes(&carried), expected);
}

#[test]
fn the_xml_of_the_channel_archiver_is_read_with_its_groups() {
    let text = "<?xml version=\"1.0\"?>\n<!DOCTYPE engineconfig SYSTEM \"engineconfig.dtd\">\n<engineconfig>\n<write_period>30</write_period>\n\
                <group><name>RF &amp; co</name>\n<!-- a <comment> -->\n<channel><name>RF:Q</name><period>0.5 m</period><scan/></channel>\n\
                <channel><name>RF:R</name><period>1</period><monitor/><disable/></channel>\n\
                <channel><name>RF:S</name><period>soon</period><scan/></channel></group>\n\
                <group><name>B</name><channel><name>RF:Q</name><period>10</period><scan/></channel></group>\n</engineconfig>\n";
    let carried = read_engine_config("e.xml", text);
    let expected =
        ["RF:Q Some(Scan { period: 10s }) [B RF___co]", "RF:R Some(Monitor) [RF___co]", "RF:S Some(Monitor) [RF___co]"];
    assert_eq!(pvs(&carried), expected);
    assert_eq!(carried.toml(), "\n[[group]]\nname = \"RF___co\"\ndisabled_by = [\"RF:R\"]\n");
    let expected = [
        "e.xml:4 write_period 30 is not needed: no buffer is sized by it here",
        "e.xml:9 RF:S: a period of \"soon\" cannot be scanned at; it is monitored",
    ];
    assert_eq!(notes(&carried), expected);
    let broken = read_engine_config("e.xml", "<engineconfig>\n<group></engineconfig>");
    assert_eq!(notes(&broken), ["e.xml:2 the file is not XML from here on: </engineconfig> closes what is not open"]);
}

proptest! {
    /// Bytes that look a little like each of them.
    #[test]
    fn whatever_texts_are_they_do_not_panic(text in "([<>/!?\\[\\]a-c '\"=(){}:,.#\\\\\n0-9$\u{e9}]|<!--|-->|<a>|</a>|\"\"\"|if |def determinePolicy\\(\\):\n |['k'] = |pb://|\\$\\{){0,60}") {
        read_list("f", &text, &mut |_| Err("none".to_owned()));
        read_engine_config("f", &text);
    }
}
