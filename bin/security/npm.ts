import { spawn } from 'node:child_process'

/** Runs npm in a folder and returns its standard output. npm reports results with an exit code other than 0 as well. */
export function npm(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = process.env): Promise<string> {
  const script = env.npm_execpath
  const [command, first] = script?.endsWith('.js') ? [process.execPath, [script]] : ['npm', []]
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], {
      cwd,
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      shell: command === 'npm' && process.platform === 'win32',
    })
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
    child.once('error', reject).once('close', () => resolve(output))
  })
}
