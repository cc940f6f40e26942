import { readFileSync } from 'node:fs'
import { type MasterKey, openKeyring } from '#lib/client/sealing/keyring.ts'
import { SealingRefusal } from '#lib/client/sealing/sealing-refusal.ts'
import { readClientEnv } from '#lib/config/env.ts'
import { readKeyring } from '#lib/domains/grimoire/contract.ts'
import { Failure, usageFailure } from './failure.ts'
import type { CommandActor } from './person.ts'

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)
  } catch {
    throw usageFailure('The file that KP_PASSPHRASE_FILE names cannot be read. Nothing was sent.')
  }
}

/** Asks for secrets in sequence: reads lines of the file in KP_PASSPHRASE_FILE, or asks without echo. A secret is never an argument. */
export function promptedSecrets({
  invocation,
  terminal,
  pathOf,
}: Pick<CommandActor, 'invocation' | 'terminal' | 'pathOf'>) {
  const file = readClientEnv(invocation.env).KP_PASSPHRASE_FILE
  const lines = file === undefined ? undefined : linesOf(pathOf(file))
  let taken = 0
  return async (question: string, isRepeated = false): Promise<string> => {
    if (lines) {
      const line = lines[taken++] ?? ''
      if (line === '')
        throw usageFailure(
          `The file of KP_PASSPHRASE_FILE has no line ${taken}. Nothing was sent.`,
          `This line must answer: ${question}`,
        )
      return line
    }
    if (!terminal.isInteractive)
      throw usageFailure(
        'The passphrase prompt needs a terminal, and standard input is not one. Nothing was sent.',
        'Write the passphrase to a file that only you can read, and set KP_PASSPHRASE_FILE to its path.',
      )
    const typed = await terminal.askSecretly(`${question} (hidden while you type):`)
    if (typed === '')
      throw new Failure('no_passphrase', 'The passphrase is empty. Nothing was sent. Run the command again.')
    if (isRepeated && (await terminal.askSecretly('Repeat it:')) !== typed)
      throw new Failure('passphrases_differ', 'The two passphrases differ. Nothing was sent. Run the command again.')
    return typed
  }
}

/** Converts errors of the sealing module into failures of `kp`. */
export async function sealing<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SealingRefusal)) throw error
    throw new Failure(error.code, error.message)
  }
}

/** The agent's keyring as the registry stores it. */
export const storedKeyring = async (asking: CommandActor, agent: string) =>
  (await asking.call(readKeyring, { params: { id: agent } })).body.data

/** Opens the agent's keyring on this machine with the passphrase. @throws Failure */
export async function unsealedMasterKey(
  asking: CommandActor,
  agent: string,
  ask = promptedSecrets(asking),
): Promise<{ master: MasterKey; keyring: unknown }> {
  const { keyring } = await storedKeyring(asking, agent)
  const passphrase = await ask(`Passphrase of ${agent}`)
  asking.terminal.progress('Opening the keyring')
  return { master: await sealing(() => openKeyring(keyring, passphrase)), keyring }
}
