//! The options of `pvark add` that say how PVs are to be archived: made from the table of settings.

use archive::settings::{Flag, Given, Givens, SETTINGS, Shape, Written};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, value_parser};

/// What was said of settings, as a request has it.
#[derive(Debug, Default)]
pub(crate) struct SettingOptions(pub(crate) Givens);

impl SettingOptions {
    /// Where an option stands in the help that comes behind the first of these.
    pub(crate) const BEHIND_METHOD: usize = 3;
}

/// The options with what a request takes of them.
fn options() -> impl Iterator<Item = (&'static Flag, &'static Shape)> {
    let flags = SETTINGS.iter().filter_map(|setting| setting.flag.as_ref());
    flags.filter_map(|flag| Some((flag, &Written::Request.key(flag.key)?.shape)))
}

impl Args for SettingOptions {
    fn augment_args(command: Command) -> Command {
        let mut command = command;
        for (index, (flag, shape)) in options().enumerate() {
            let arg = Arg::new(flag.name).long(flag.name).value_name(flag.value).help(flag.help);
            let arg = match shape {
                Shape::Texts => arg.value_delimiter(',').action(ArgAction::Append),
                Shape::Number | Shape::Within(..) => arg.value_parser(value_parser!(f64)),
                Shape::Count { .. } => arg.value_parser(value_parser!(u64)),
                _ => arg,
            };
            command = command.arg(arg.display_order(SettingOptions::BEHIND_METHOD - 1 + 2 * index));
        }
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        SettingOptions::augment_args(command)
    }
}

impl FromArgMatches for SettingOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<SettingOptions, clap::Error> {
        let mut said = SettingOptions::default();
        said.update_from_arg_matches(matches)?;
        Ok(said)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for (flag, shape) in options() {
            let given = match shape {
                Shape::Texts => {
                    matches.get_many::<String>(flag.name).map(|texts| Given::Texts(texts.cloned().collect()))
                }
                Shape::Number | Shape::Within(..) => matches.get_one(flag.name).copied().map(Given::Number),
                Shape::Count { .. } => matches.get_one(flag.name).copied().map(Given::Count),
                _ => matches.get_one(flag.name).cloned().map(Given::Text),
            };
            self.0 = std::mem::take(&mut self.0).with(flag.key, given);
        }
        Ok(())
    }
}
