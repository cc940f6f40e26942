import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { connect } from 'node:net'
import { createClient } from '@redis/client'
import neo4j from 'neo4j-driver'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { nodeFlags } from '#bin/children.ts'
import { pythonProgram } from '../python.ts'
import { isRedisInstalled, startRedis } from '../redis.ts'
import { isInstalled } from './installed.ts'
import { gcsServer, neo4jServer, s3Server } from './shared.ts'

const isThere = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })

describe.skipIf(!isInstalled('neo4j'))('the Neo4j test server', () => {
  test('is shared by all requests, at the lowest supported version', async () => {
    const [one, other] = await Promise.all([neo4jServer(), neo4jServer()])
    expect(other).toEqual(one)
    const { username, password, host } = new URL(one.url)
    const driver = neo4j.driver(`bolt://${host}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    const { records } = await driver.executeQuery('CALL dbms.components() YIELD versions RETURN versions[0] AS version')
    await driver.close()
    expect(records[0]?.get('version')).toBe('5.26.0')
  })
})

describe.skipIf(!isInstalled('s3') || !isInstalled('gcs'))('the object test servers', () => {
  test('answer requests', async () => {
    const [s3, gcs] = [await s3Server(), await gcsServer()]
    expect(await (await fetch(`${s3.endpoint}/no-such-bucket`)).text()).toContain('<Code>NoSuchBucket</Code>')
    expect(await (await fetch(`${gcs.endpoint}/storage/v1/b?project=test`)).json()).toMatchObject({
      kind: 'storage#buckets',
    })
  })
})

describe.skipIf(!isInstalled('s3') || !isInstalled('gcs'))('a killed test run', () => {
  test('leaves no running server and no folder', async () => {
    const child = fork('lib/testing/services/abandoned.ts', [], { execArgv: [...nodeFlags] })
    const [message] = await once(child, 'message')
    const { ports, folder } = z.object({ ports: z.array(z.number()), folder: z.string() }).parse(message)
    for (const port of ports) expect(await isThere(port)).toBe(true)
    child.kill('SIGKILL')
    const isLeft = async () => existsSync(folder) || (await Promise.all(ports.map(isThere))).includes(true)
    await vi.waitUntil(async () => !(await isLeft()), 120_000)
  })
})

describe.skipIf(!(await isRedisInstalled()))('the Redis test servers', () => {
  test('start empty when another one has saved its data', async () => {
    for (const name of ['first', 'second']) {
      const server = await startRedis()
      const client = createClient({ url: server?.url ?? '' })
      await client.connect()
      expect(await client.dbSize()).toBe(0)
      await client.set(name, 'saved')
      await client.sendCommand(['SAVE'])
      client.destroy()
      await server?.stop()
    }
  })
})

describe.skipIf(!isInstalled('python'))('a Python test program', () => {
  test('answers calls, reports exceptions and ends', async () => {
    const program = pythonProgram('packages.py')
    expect(await program.call('version', { package: 'langgraph' }, z.string())).toMatch(/^1\./)
    await expect(program.call('fail', {}, z.unknown())).rejects.toThrow('this function always fails')
    expect(await program.call('version', { package: 'psycopg' }, z.string())).toMatch(/^3\./)
    await program.close()
    await expect(program.call('fail', {}, z.unknown())).rejects.toThrow('packages.py ended')
  })
})
