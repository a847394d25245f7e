//! The recipes of docs/access.md are what they say they are: each is read by the program's own parser.

use access::Config;
use archive::Right;
use serde::Deserialize;

/// What a recipe may hold: the config of access, and listeners, which are read elsewhere.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    access: Config,
    #[serde(default)]
    listener: Vec<toml::Table>,
}

fn recipes() -> Vec<(String, File)> {
    let text = include_str!("../../../docs/access.md");
    let mut title = "";
    let mut recipes = Vec::new();
    for part in text.split("\n## ").skip(1) {
        title = part.lines().next().unwrap_or(title);
        for block in part.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let file = toml::from_str(block).unwrap_or_else(|error| panic!("{title}: {error}\n{block}"));
            recipes.push((title.to_owned(), file));
        }
    }
    recipes
}

#[test]
fn each_recipe_can_be_read_and_has_what_it_is_about() {
    let recipes = recipes();
    let of = |title: &str| {
        let found = recipes.iter().find(|(other, _)| other.starts_with(title));
        &found.unwrap_or_else(|| panic!("no recipe is called {title}")).1
    };
    assert_eq!(of("Everybody reads").access.grants[0].to.len(), 3);
    assert!(of("Everybody reads").access.ldap.is_some());
    assert!(of("A proxy").access.proxy.is_some());
    assert!(of("Keycloak").access.oidc.is_some());
    assert!(of("LDAP").access.ldap.as_ref().unwrap().groups.is_some());
    let channel_finder = &of("The groups of ChannelFinder").access.grants;
    assert_eq!((channel_finder[0].to.len(), channel_finder[0].scope.right), (3, Right::Operate));
    assert_eq!(channel_finder[1].scope.right, Right::Administer);
    assert!(of("Scripts").access.limits.is_some());
    assert_eq!(of("A listener for the office").listener[1]["rights"].as_str(), Some("read"));
    assert_eq!(of("Programs").listener.len(), 1);
    assert!(of("The idea").access.socket.is_some());
    assert_eq!(recipes.len(), 9);
}
