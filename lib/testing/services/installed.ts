import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { readEnv } from '#lib/config/env.ts'

/** Where `.ci/services` builds and downloads, outside any checkout, so that this happens once per machine. */
const home = join(homedir(), '.cache', 'knowledgepulse-services')
/** The first characters of a file's hash: a changed package list is installed in a new folder. */
const hashOf = (file: string): string =>
  createHash('sha256')
    .update(readFileSync(join(import.meta.dirname, file)))
    .digest('hex')
    .slice(0, 12)
const python = join(home, `python-${hashOf('../python/requirements.txt')}`)
const openapi = join(home, `openapi-${hashOf('../openapi/package.json')}`)
const mcp = join(home, `mcp-${hashOf('../mcp/package.json')}`)
/** The folder with the packages in `lib/testing/langgraph/package.json`. */
export const langgraphTools = join(home, `langgraph-${hashOf('../langgraph/package.json')}`)
export const files = {
  neo4j: join(home, 'neo4j', 'lib'),
  s3: join(home, 'bin', 'versitygw'),
  gcs: join(home, 'bin', 'fake-gcs-server'),
  helm: join(home, 'bin', 'helm'),
  python: join(python, 'complete'),
  openapi: join(openapi, 'complete'),
  mcp: join(mcp, 'complete'),
  langgraph: join(langgraphTools, 'complete'),
}
/** A program of the environment with `lib/testing/python/requirements.txt`. */
export const pythonExecutable = (program = 'python'): string => join(python, 'bin', program)
/** A program of the packages in `lib/testing/openapi/package.json`. */
export const openApiTool = (program: 'redocly' | 'spectral' | 'openapi-typescript' | 'tsc'): string =>
  join(openapi, 'node_modules', '.bin', program)
/** A program of the packages in `lib/testing/mcp/package.json`. */
export const mcpTool = (program: 'conformance' | 'mcp-inspector'): string => join(mcp, 'node_modules', '.bin', program)

export type ServiceName = keyof typeof files
const services: readonly ServiceName[] = ['neo4j', 's3', 'gcs', 'helm', 'python', 'openapi', 'mcp', 'langgraph']
const names: Record<ServiceName, string> = {
  neo4j: 'Neo4j',
  s3: 'an S3 server (versitygw)',
  gcs: 'fake-gcs-server',
  helm: 'Helm',
  python: 'Python with the packages of lib/testing/python/requirements.txt',
  openapi: 'the packages of lib/testing/openapi/package.json',
  mcp: 'the packages of lib/testing/mcp/package.json',
  langgraph: 'the packages of lib/testing/langgraph/package.json',
}

/** Whether this machine can start the service, for `describe.skipIf`. @throws under KP_REQUIRE_SERVICES when it cannot */
export function isInstalled(service: ServiceName): boolean {
  if (existsSync(files[service])) return true
  if (readEnv().KP_REQUIRE_SERVICES)
    throw new Error(`${names[service]} is not installed, and KP_REQUIRE_SERVICES asks for it: run .ci/services`)
  return false
}

/** Names of missing services, for the end of a run. */
export const missingServices = (): string[] =>
  services.filter((service) => !existsSync(files[service])).map((service) => names[service])
