import { describe, expect, it } from 'vitest'
import { objectsAddress } from './address.ts'

describe('objectsPlace', () => {
  it.each([
    [undefined, { provider: 'files', folder: '/data/objects' }],
    ['file:/srv/objects', { provider: 'files', folder: '/srv/objects' }],
    ['file:///srv/a%20b', { provider: 'files', folder: '/srv/a b' }],
    [
      's3://bucket-1?region=eu-central-1',
      {
        provider: 's3',
        bucket: 'bucket-1',
        region: 'eu-central-1',
        pathStyle: false,
        endpoint: undefined,
        credentials: undefined,
        shown: 's3://bucket-1?region=eu-central-1',
      },
    ],
    [
      's3://key:se%2Fcr%40et@objects.example:9000/bucket?tls=false',
      {
        provider: 's3',
        bucket: 'bucket',
        region: 'us-east-1',
        pathStyle: true,
        endpoint: 'http://objects.example:9000',
        credentials: { accessKeyId: 'key', secretAccessKey: 'se/cr@et' },
        shown: 's3://objects.example:9000/bucket',
      },
    ],
    [
      's3://key:secret@account.r2.example/bucket?region=auto&path_style=false',
      { endpoint: 'https://account.r2.example', region: 'auto', pathStyle: false },
    ],
    ['gs://bucket', { provider: 'gcs', bucket: 'bucket', endpoint: undefined, shown: 'gs://bucket' }],
    [
      'gs://bucket?endpoint=http://127.0.0.1:4443/',
      { provider: 'gcs', endpoint: 'http://127.0.0.1:4443', shown: 'gs://bucket at 127.0.0.1:4443' },
    ],
  ])('returns the place for %s', (url, expected) => {
    const address = objectsAddress(url, '/data')
    expect(address).toMatchObject(expected)
    expect(address.shown).not.toMatch(/key|se.cr.et/)
  })

  it.each([
    ['file:', /a folder after file:/],
    ['s3://key:hu/sh@host/bucket', /%2F for a slash/],
    ['s3://hush-bucket', /\?region=/],
    ['s3://hush@host/bucket', /both the key and its secret/],
    ['s3://host:9000/bucket', /key:secret@/],
    ['s3://key:hush@host/a/b', /one bucket/],
    ['s3://key:hush@host/bucket?tsl=false', /only the options region=, tls=, path_style=/],
    ['s3://key:hush@host/bucket?tls=hush', /tls=true or tls=false/],
    ['s3://key:hu%sh@host/bucket', /%25/],
    ['s3://key:hu#sh@host/bucket', /%2F|%23|one bucket/],
    ['gs://bucket/hush-folder', /gs:\/\/bucket with nothing after it/],
    ['gs://key:hush@bucket', /nothing after it/],
    ['gs://bucket?endpoint=http://key:hush@host', /endpoint=http/],
    ['ftp://key:hush@host/bucket', /must be file:<folder>, s3:/],
    ['/hush/folder', /not a URL|must be file:/],
  ])('rejects %s with the accepted form and without the given value', (url, message) => {
    expect(() => objectsAddress(url, '/data')).toThrow(message)
    try {
      objectsAddress(url, '/data')
    } catch (error) {
      expect(String(error)).not.toMatch(/hu.?sh|tsl/)
    }
  })
})
