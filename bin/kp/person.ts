import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import { cookieFetch } from '#lib/client/cookies.ts'
import {
  open,
  type RequestInput,
  RequestRefused,
  type ResponseOf,
  send,
  type UploadedBody,
} from '#lib/client/request.ts'
import { SignInRefused, signInWithPassword, signOut } from '#lib/client/sign-in.ts'
import { type AccountView, readAccount } from '#lib/domains/accounts/contract.ts'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { exitCodes, Failure, usageFailure } from './failure.ts'
import type { CommandSession } from './session.ts'
import { readStdin } from './terminal.ts'

export interface PersonOptions {
  as?: string
  passwordStdin?: boolean
  /** A code of the person's authenticator app, or a recovery code. */
  code?: string
}
/** The actor: the agent of the token, or a person with a session. */
export interface CommandActor
  extends Pick<CommandSession, 'invocation' | 'terminal' | 'url' | 'folder' | 'command' | 'pathOf'> {
  call<O extends OperationShape>(
    operation: O,
    parts?: RequestInput<O>,
    more?: { idempotencyKey?: string },
  ): Promise<ResponseOf<O>>
  upload<O extends OperationShape>(
    operation: O,
    body: () => UploadedBody,
    parts?: RequestInput<O>,
  ): Promise<ResponseOf<O>>
  stream<O extends OperationShape>(operation: O, parts?: RequestInput<O>): Promise<Response>
  /** The person with the password, which some requests require again. Undefined for an agent. */
  person?: { account: AccountView; password: string; moreSecrets: readonly string[] }
}

/** Timeout of a request, and longest wait for a rate-limit window, in milliseconds. */
const patience = 65_000
/** How often a sign-in waits for the next rate-limit window. Few sign-ins are allowed per minute. */
const maxWaits = 2

/** Adds the options of every command that people can also use. */
export const asPersonOptions = (command: Command): Command =>
  command
    .option('--as <email>', 'sign in as this person for this command; asks for the password')
    .option('--password-stdin', 'read the password from standard input')
    .option('--code <code>', 'the code of your authenticator app, if your account has a second factor')

/** Reads the password, and further secrets on the following lines. */
async function secretsOf(
  { invocation, terminal }: CommandSession,
  email: string,
  fromStdin: boolean,
): Promise<string[]> {
  if (fromStdin) return (await readStdin(invocation, 'A password')).split(/\r?\n/)
  if (!terminal.isInteractive)
    throw usageFailure(
      'The password prompt needs a terminal, and standard input is not one. Nothing was sent.',
      'Pipe the password to standard input, and add --password-stdin.',
    )
  return [await terminal.askSecretly(`Password of ${email} (hidden while you type):`)]
}

function failureOf(error: SignInRefused, url: string): Failure {
  const { reason, retryAfter } = error
  switch (reason) {
    case 'wrong':
      return new Failure('wrong_password', 'The email address or the password is wrong. Nothing was changed.', {
        exitCode: exitCodes.unauthorised,
        advice: 'The operator of the installation can reset the password: kp admin reset-password <email>',
      })
    case 'second_factor_needed':
      return new Failure('second_factor_needed', 'This account has a second factor. Nothing was changed.', {
        exitCode: exitCodes.unauthorised,
        advice: 'Add --code with the code of your authenticator app or a recovery code.',
      })
    case 'second_factor_wrong':
      return new Failure('second_factor_wrong', 'The code is wrong or was used before. Nothing was changed.', {
        exitCode: exitCodes.unauthorised,
        advice: 'Wait for the next code of the app, then run it again.',
      })
    case 'rate_limited':
      return new Failure('rate_limited', 'Too many sign-in attempts. Nothing was changed.', {
        advice: `Run it again in ${retryAfter ?? 60} seconds.`,
      })
    case 'unreachable':
      return new Failure('unreachable', `${url} does not answer like a KnowledgePulse installation.`, {
        exitCode: exitCodes.unreachable,
        advice: 'Check the address (--url or KP_URL).',
      })
    default:
      return new Failure('sign_in_failed', `${url} could not sign you in (${reason}). Nothing was changed.`, {
        exitCode: exitCodes.unreachable,
      })
  }
}

/** Opens a session for this run. Writes nothing to disk. */
async function opened(
  session: CommandSession,
  { code: given, ...credentials }: { email: string; password: string; code: string | undefined },
) {
  const { url, terminal } = session
  const place = { baseUrl: url, fetch: cookieFetch() }
  let code = given
  for (let waits = 0; ; waits++)
    try {
      await signInWithPassword({ ...credentials, code }, place)
      return place
    } catch (error) {
      if (!(error instanceof SignInRefused)) throw error
      if (error.reason === 'second_factor_needed' && code === undefined && terminal.isInteractive) {
        code = await terminal.askSecretly('Code of your authenticator app, or a recovery code (hidden while you type):')
        continue
      }
      const wait = (error.retryAfter ?? 60) * 1_000
      if (error.reason !== 'rate_limited' || waits === maxWaits || wait > patience) throw failureOf(error, url)
      terminal.note(`The sign-in limit of this minute is reached. Continuing in ${Math.ceil(wait / 1_000)} s.`)
      await delay(wait)
    }
}

/** Retries once after a rate limit. */
async function patiently<T>({ terminal }: CommandSession, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (!(error instanceof RequestRefused) || error.problem.code !== 'rate_limited') throw error
    const seconds = Math.min(60, error.retryAfter ?? 60)
    terminal.note(`The request limit of this minute is reached. Continuing in ${seconds} s.`)
    await delay(seconds * 1_000)
    return ask()
  }
}

/**
 * Does the work as the person of `--as`, otherwise as the agent of the token. Opens a session and ends it afterwards.
 * `anyPassword`: also accepts a one-time password.
 */
export async function withCommandActor<T>(
  session: CommandSession,
  { as, passwordStdin = false, code }: PersonOptions,
  work: (asking: CommandActor) => Promise<T>,
  { anyPassword = false } = {},
): Promise<T> {
  if (as === undefined) {
    if (passwordStdin) throw usageFailure('--password-stdin requires --as <email>.')
    return work(session)
  }
  const { invocation, url, terminal, folder, command, pathOf, warnOfPlainText, checkedAnswer } = session
  const [password = '', ...moreSecrets] = await secretsOf(session, as, passwordStdin)
  if (password === '') throw new Failure('no_password', 'The password is empty. Nothing was sent.')
  warnOfPlainText('password')
  const place = await opened(session, { email: as, password, code })
  try {
    const call = async <O extends OperationShape>(
      operation: O,
      parts: RequestInput<O> = {},
      more: { idempotencyKey?: string } = {},
    ): Promise<ResponseOf<O>> =>
      checkedAnswer(
        await patiently(session, () =>
          send(operation, parts, { ...place, ...more, signal: AbortSignal.timeout(patience) }),
        ),
      )
    const upload = async <O extends OperationShape>(
      operation: O,
      body: () => UploadedBody,
      parts: RequestInput<O> = {},
    ): Promise<ResponseOf<O>> =>
      checkedAnswer(await patiently(session, () => send(operation, parts, { ...place, upload: body() })))
    const stream = async <O extends OperationShape>(operation: O, parts: RequestInput<O> = {}): Promise<Response> =>
      checkedAnswer(await patiently(session, () => open(operation, parts, place)))
    const account = (await call(readAccount)).body.data
    if (account.must_change_password && !anyPassword)
      throw new Failure('one_time_password', 'You used a one-time password. Choose a new password first.', {
        exitCode: exitCodes.unauthorised,
        advice: `On the page ${url}/sign-in, or with ${command(`account password --as ${as}`)}`,
      })
    return await work({
      invocation,
      url,
      terminal,
      folder,
      command,
      pathOf,
      call,
      upload,
      stream,
      person: { account, password, moreSecrets },
    })
  } finally {
    // The session may already have ended, or the server may be unreachable.
    await signOut(place).catch(() => {})
  }
}
