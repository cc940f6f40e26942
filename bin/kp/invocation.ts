import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { ExitCode } from './failure.ts'

export type InputStream = Readable & {
  readonly isTTY?: boolean
  /** On a terminal: reads each key when it is pressed, without echo. */
  setRawMode?(isRaw: boolean): unknown
}
export type OutputStream = Writable & {
  readonly isTTY?: boolean
  /** Width of the terminal in characters. */
  readonly columns?: number
  hasColors?(): boolean
}

/** Everything that a run of `kp` uses from its process. Several runs can share a process. */
export interface Invocation {
  /** The words after the name of the program. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly homeDirectory: string
  /** The base of relative paths. Undefined for the current folder of the process. */
  readonly workingDirectory: string | undefined
  /** Sets the exit code. The last call counts; 0 without a call. */
  setExitCode(code: ExitCode): void
  /** Calls `cleanUp` if SIGINT or SIGTERM ends the run. Returns a function that unsubscribes. */
  onTermination(cleanUp: () => void): () => void
}

/**
 * Resolves a path that the user typed. A relative path stays unchanged when it refers to the current folder of the
 * process, because messages repeat it. `-` is a standard stream and not a path.
 */
export function resolvePath(
  { homeDirectory, workingDirectory }: Pick<Invocation, 'homeDirectory' | 'workingDirectory'>,
  path: string,
): string {
  const expanded = path.replace(/^~(?=\/|$)/, () => homeDirectory)
  return path === '-' || workingDirectory === undefined ? expanded : resolve(workingDirectory, expanded)
}
