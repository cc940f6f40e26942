import { resolve } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import type { ExitCode } from './failure.ts'

export type InputStream = Readable & {
  readonly isTTY?: boolean
  /** A terminal has it: reads each key as it is pressed, without echo. */
  setRawMode?(isRaw: boolean): unknown
}
export type OutputStream = Writable & {
  readonly isTTY?: boolean
  /** Width of the terminal in characters. */
  readonly columns?: number
  hasColors?(): boolean
}

/** Everything that one run of `kp` takes from its process. Several runs can share a process. */
export interface Invocation {
  /** The words after the name of the program. */
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly stdin: InputStream
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly homeDirectory: string
  /** The folder that relative paths refer to; undefined for the current folder of the process. */
  readonly workingDirectory: string | undefined
  /** The last call determines the exit code; 0 without a call. */
  setExitCode(code: ExitCode): void
  /** Calls `cleanUp` if SIGINT or SIGTERM ends the run. Returns a function that unsubscribes. */
  onTermination(cleanUp: () => void): () => void
}

/**
 * Resolves a path that the user typed. A relative path stays as it is if it refers to the current folder of the process: messages
 * repeat it. `-` stands for a standard stream and is no path.
 */
export function resolvePath(
  { homeDirectory, workingDirectory }: Pick<Invocation, 'homeDirectory' | 'workingDirectory'>,
  path: string,
): string {
  const expanded = path.replace(/^~(?=\/|$)/, () => homeDirectory)
  return path === '-' || workingDirectory === undefined ? expanded : resolve(workingDirectory, expanded)
}
