import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readEnv } from './env.ts'
import { placeNamed, placesOf } from './places.ts'

const dataDir = resolve('a-folder')
const places = (given: Record<string, string> = {}) => placesOf(readEnv({ KP_DATA_DIR: dataDir, ...given }))
const socket = (folder: string) => `postgresql://kp_app:x@localhost/kp?host=${encodeURIComponent(folder)}`

describe('where it lies', () => {
  it('nothing set: all of it on this machine', () =>
    expect(places()).toEqual({
      postgresql: 'embedded',
      files: 'folder',
      ledger: 'folder',
      mail: 'folder',
      limits: 'here',
    }))

  it.each([
    [socket(join(dataDir, 'run')), 'embedded'],
    [socket('/var/run/postgresql'), 'server'],
    ['postgresql://kp_app:x@db.example.org/kp', 'server'],
    ['postgresql://kp_app:x@localhost/kp', 'server'],
  ])('the database at %s is %s', (url, place) => expect(places({ DATABASE_URL: url }).postgresql).toBe(place))

  it('says who else gets something: the mail server, Redis where limits are counted there, a ledger of its own', () => {
    const given = {
      KP_SMTP_URL: 'smtp://mail.example.org',
      KP_REDIS_URL: 'redis://r.example.org',
      KP_LEDGER_URL: '/apart',
    }
    expect(places(given)).toMatchObject({ ledger: 'apart', mail: 'server', limits: 'redis' })
    expect(places({ ...given, KP_LIMITS: 'postgres' }).limits).toBe('here')
  })

  it('in words it never names an address', () => {
    const at = places({ DATABASE_URL: 'postgresql://kp_app:x@db.example.org/kp', KP_LEDGER_URL: '/apart' })
    const said = ['postgresql', 'files', 'ledger', 'another'].map((store) => placeNamed(at, store))
    expect(said[0]).toBe('PostgreSQL at the operator’s server')
    for (const words of said) expect(words).not.toMatch(/example|apart\//)
    expect(new Set(said).size).toBe(4)
  })
})
