import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { z } from 'zod'
import { pythonExecutable } from './services/installed.ts'

const Answer = z.object({ id: z.number(), result: z.unknown().optional(), error: z.string().optional() })

export interface PythonProgram {
  /** Calls a function that the program serves, with keyword arguments. Rejects with Python's traceback when the function raises. */
  call<T>(name: string, args: Record<string, unknown>, result: z.ZodType<T>): Promise<T>
  close(): Promise<void>
}

/**
 * Starts a program of `lib/testing/python/` that ends with `serve({...})` of `serving.py`. One process answers any
 * number of calls in sequence, so that a suite imports its libraries once. Guard the suite with
 * `describe.skipIf(!isInstalled('python'))`.
 *
 * @param file its name in `lib/testing/python/`
 */
export function pythonProgram(file: string, env: Record<string, string> = {}): PythonProgram {
  const folder = join(import.meta.dirname, 'python')
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(pythonExecutable(), ['-u', join(folder, file)], {
    stdio: 'pipe',
    env: { PATH, HOME, NODE_ENV: 'test', PYTHONDONTWRITEBYTECODE: '1', PYTHONWARNINGS: 'ignore', ...env },
  })
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  let calls = 0
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4_000)
  })
  createInterface({ input: child.stdout }).on('line', (line) => {
    const { id, result, error } = Answer.parse(JSON.parse(line))
    const one = waiting.get(id)
    waiting.delete(id)
    if (error === undefined) one?.resolve(result)
    else one?.reject(new Error(error))
  })
  child.stdin.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    const end = (reason: string): void => {
      for (const { reject } of waiting.values()) reject(new Error(`${file} ended: ${reason}\n${errors}`))
      waiting.clear()
      resolve()
    }
    child.once('error', (error) => end(error.message)).once('close', (code) => end(`exit code ${code}`))
  })
  return {
    async call(name, args, result) {
      if (child.exitCode !== null) throw new Error(`${file} ended: exit code ${child.exitCode}\n${errors}`)
      const id = ++calls
      const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }))
      child.stdin.write(`${JSON.stringify({ id, name, args })}\n`)
      return result.parse(await answer)
    },
    async close() {
      child.stdin.end()
      await ended
    },
  }
}
