//! `hakmem completions`: what a shell has to know to complete this command's arguments.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::text;

/// Print the completions for a shell.
///
/// Where the shell looks for them: see the examples. They complete commands and options, and in bash, fish and zsh the
/// names of presets.
#[derive(Args)]
#[command(after_help = "\
Examples:
  hakmem completions bash > ~/.local/share/bash-completion/completions/hakmem
  hakmem completions zsh > \"${fpath[1]}/_hakmem\"
  hakmem completions fish > ~/.config/fish/completions/hakmem.fish
  hakmem completions elvish >> ~/.config/elvish/rc.elv
  hakmem completions powershell >> $PROFILE

Exit codes:
  0    Success.
  1    stdout cannot be written to.
  2    The arguments make no sense, such as an unknown shell.")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Prints them.
pub fn completions(args: &CompletionsArgs) -> anyhow::Result<()> {
    text::print(&script(args.shell))
}

fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "hakmem", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn every_command_is_in_every_shells_completions() {
        for &shell in Shell::value_variants() {
            let script = script(shell);
            for command in Cli::command().get_subcommands() {
                assert!(script.contains(command.get_name()), "{shell}: {}", command.get_name());
            }
            assert!(script.contains("without"), "{shell}");
            // The others do not complete values.
            if [Shell::Bash, Shell::Fish, Shell::Zsh].contains(&shell) {
                assert!(script.contains("c6-heavy-flatten"), "{shell}");
            }
        }
    }
}
