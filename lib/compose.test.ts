import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readEnv } from '#lib/config/env.ts'
import { assessLocations, sitesOf } from '#lib/config/locations.ts'

const read = (file: string) => readFileSync(join(import.meta.dirname, '..', file), 'utf8')
const Service = z.object({
  image: z.string(),
  environment: z.record(z.string(), z.string()).default({}),
  command: z.array(z.string()).optional(),
  ports: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  healthcheck: z.object({ test: z.array(z.string()).min(2) }).optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
})
const compose = z
  .object({ services: z.record(z.string(), Service), volumes: z.record(z.string(), z.null()) })
  .parse(parse(read('docker-compose.yml')))
const services = Object.entries(compose.services)

describe('docker-compose.yml', () => {
  it.each(services)('%s has a fixed version and listens only on this machine', (_name, { image, ports }) => {
    expect(image).toMatch(/:(\d+\.\d+|RELEASE\.\d{4}-)/)
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:\d+:\d+$/)
  })
  it.each(services.filter(([, { ports }]) => ports.length > 0))(
    '%s has a volume for its data and a health check',
    (_name, { volumes, healthcheck }) => {
      expect(healthcheck).toBeDefined()
      expect(volumes).toHaveLength(1)
      for (const volume of volumes) expect(Object.keys(compose.volumes)).toContain(volume.split(':')[0])
    },
  )
  it('has no default password and publishes only the ports that KnowledgePulse connects to', () => {
    const text = read('docker-compose.yml')
    expect(text).not.toMatch(/KP_STORES_PASSWORD:?-/)
    for (const [, reference = ''] of text.matchAll(/PASSWORD[A-Z_]*: (\S+)|NEO4J_AUTH: (\S+)/g))
      expect(reference || 'neo4j/${KP_STORES_PASSWORD:?').toContain('${KP_STORES_PASSWORD:?')
    const ports = services.flatMap(([, { ports: own }]) => own.map((port) => port.split(':')[1]))
    expect(ports.sort()).toEqual(['5432', '6379', '7687', '9000'])
  })
  it('services depend only on services with a health check', () => {
    for (const [, { depends_on }] of services)
      for (const [name, { condition }] of Object.entries(depends_on)) {
        expect(condition).toBe('service_healthy')
        expect(compose.services[name]?.healthcheck).toBeDefined()
      }
  })
})

describe('“Connect your stores”', () => {
  const generated = 'a1b2c3'
  const given = Object.fromEntries(
    [...read('docs/connect-stores.md').matchAll(/`export ((?:KP|DATABASE)_[A-Z_]+)="?([^`"]+)"?`/g)].map(
      ([, name = '', text = '']) => [name, text.replaceAll('$KP_STORES_PASSWORD', generated)],
    ),
  )
  const env = readEnv(given)
  it('configures every store with accepted settings', () => {
    expect(Object.keys(given).sort()).toEqual([
      'DATABASE_URL',
      'KP_CHECKPOINTS_URL',
      'KP_GRAPH_URL',
      'KP_OBJECTS_URL',
      'KP_REDIS_URL',
      'KP_REGIONS',
    ])
    expect(env).toMatchObject(given)
    for (const { provider } of sitesOf(env)) expect(provider).not.toBe('memory')
    expect(assessLocations(env).filter(({ jurisdiction }) => jurisdiction !== 'eea')).toEqual([])
  })
  it.each(['DATABASE_URL', 'KP_CHECKPOINTS_URL', 'KP_GRAPH_URL', 'KP_OBJECTS_URL', 'KP_REDIS_URL'])(
    '%s uses a port that docker compose opens, and the generated password',
    (name) => {
      const { port, password } = new URL(given[name] ?? '')
      const service = services.find(([, { ports }]) => ports.includes(`127.0.0.1:${port}:${port}`))?.[1]
      expect(password).toBe(generated)
      expect(JSON.stringify([service?.environment, service?.command])).toContain('${KP_STORES_PASSWORD:?')
    },
  )
})
