import type { Command } from 'commander'
import { Option } from 'commander'
import { presetNames } from '#lib/domains/retention/rules.ts'
import { reset, type SetOptions, setPeriods, showRetention } from './retention-periods.ts'
import type { CommandSession } from './session.ts'
import { runSweep, showSweeps } from './sweeping.ts'

/** Retention of units. */
export function retentionCommands(program: Command, begin: () => CommandSession): void {
  const retention = program
    .command('retention')
    .summary('how long units are kept, and sweeps')
    .description('How long units and skills are kept, by visibility. For admins.\n\nExample:\n  kp retention show')
  retention
    .command('show')
    .summary('show the periods and who set them')
    .description('Shows how long each visibility is kept, and who set it.\n\nExample:\n  kp retention show')
    .action(() => showRetention(begin()))
  retention
    .command('set')
    .summary('set periods in place of the environment’s')
    .description(
      'Shows first how many units and skills each visibility would lose, and asks. Periods that are not named stay as they are.\n\nExample:\n  kp retention set --org-days 365 --private-days 180',
    )
    .addOption(new Option('--preset <name>', 'all three at once').choices(presetNames))
    .option('--network-days <days>', 'for what everybody sees; a number, or forever')
    .option('--org-days <days>', 'for what an organisation sees; a number, or forever')
    .option('--private-days <days>', 'for what its owner sees; a number, or forever')
    .option('--yes', 'set them without being asked; needed in scripts')
    .action((options: SetOptions) => setPeriods(begin(), options))
  retention
    .command('reset')
    .summary('go back to the environment’s periods')
    .description('Takes back what admins set.\n\nExample:\n  kp retention reset')
    .action(() => reset(begin()))
  retention
    .command('sweep')
    .summary('remove now what expired')
    .description(
      'Removes all that expired, but for what a legal hold covers, and waits until it is done. An hourly job does the same.\n\nExample:\n  kp retention sweep --dry-run',
    )
    .option('--dry-run', 'say what would go, and remove nothing')
    .action((options: { dryRun?: boolean }) => runSweep(begin(), options))
  retention
    .command('history')
    .summary('show the last sweeps')
    .description('Shows the last sweeps, with what each removed.\n\nExample:\n  kp retention history')
    .action(() => showSweeps(begin()))
}
