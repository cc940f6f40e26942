import { expect, test } from 'vitest'
import { readEnv } from './env.ts'
import { sentinelsOf } from './sentinels.ts'

test('sentinelsOf returns the name and the addresses, and undefined for the address of a server', () => {
  const found = sentinelsOf('rediss://main/2?sentinels=10.0.0.1:26379,[::1]:26380,s3.example:26381')
  expect(found).toMatchObject({
    name: 'main',
    addresses: [
      { host: '10.0.0.1', port: 26379 },
      { host: '::1', port: 26380 },
      { host: 's3.example', port: 26381 },
    ],
  })
  expect(sentinelsOf('redis://r.example:6379/0')).toBeUndefined()
})

test.each([
  ['redis://main/0?sentinels=', 'host:port'],
  ['redis://main/0?sentinels=10.0.0.1', 'host:port'],
  ['redis://main/0?sentinels=10.0.0.1:26379,', 'host:port'],
  ['redis://main/0?sentinels=10.0.0.1:26379/0', 'host:port'],
  ['redis://main:6379/0?sentinels=10.0.0.1:26379', 'without a port'],
  ['redis:///0?sentinels=10.0.0.1:26379', 'name of the primary'],
])('readEnv rejects %s', (url, reason) => {
  expect(() => readEnv({ KP_REDIS_URL: url })).toThrow(reason)
})
