import { isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { GcsAddress } from './gcs.ts'
import type { S3Address } from './s3.ts'

/** The location of the objects. `shown`: the address without credentials, for display. */
export type ObjectsAddress = { shown: string } & (
  | { provider: 'files'; folder: string }
  | ({ provider: 's3' } & S3Address)
  | ({ provider: 'gcs' } & GcsAddress)
)

/** The message names what KP_OBJECTS_URL accepts and never its value, which may contain a secret. */
const refuse = (message: string): never => {
  throw new Error(`KP_OBJECTS_URL ${message}`)
}
const bucketForm = /^[A-Za-z0-9][A-Za-z0-9._-]{1,220}[A-Za-z0-9]$/

function options(url: URL, known: readonly string[]): Map<string, string> {
  for (const name of url.searchParams.keys())
    if (!known.includes(name)) refuse(`supports only the options ${known.map((one) => `${one}=`).join(', ')}`)
  return new Map(url.searchParams)
}
function flag(text: string | undefined, name: string, otherwise: boolean): boolean {
  if (text === undefined) return otherwise
  return text === 'true' || text === 'false' ? text === 'true' : refuse(`must have ${name}=true or ${name}=false`)
}
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return refuse(
      'contains a % in its key or secret that is not part of a percent-encoded character. Write %25 instead',
    )
  }
}

function s3Place(url: URL): ObjectsAddress {
  const given = options(url, ['region', 'tls', 'path_style'])
  const path = url.pathname.slice(1)
  const isAws = path === ''
  const bucket = isAws ? url.hostname : path
  if (!bucketForm.test(bucket) || (isAws && url.port !== ''))
    refuse('must name one bucket: s3://key:secret@host:port/bucket, or for AWS s3://bucket?region=eu-central-1')
  if ((url.username === '') !== (url.password === '')) refuse('must contain both the key and its secret, or neither')
  if (!isAws && url.username === '')
    refuse(
      'must have key:secret@ before the host of your own server. For an AWS bucket, omit everything after the bucket name',
    )
  const region = given.get('region') ?? ''
  if (isAws && region === '') refuse('must have ?region= after an AWS bucket, such as s3://bucket?region=eu-central-1')
  const scheme = flag(given.get('tls'), 'tls', true) ? 'https' : 'http'
  const pathStyle = flag(given.get('path_style'), 'path_style', !isAws)
  return {
    provider: 's3',
    shown: isAws ? `s3://${bucket}?region=${region}` : `s3://${url.host}/${bucket}`,
    bucket,
    region: region === '' ? 'us-east-1' : region,
    pathStyle,
    endpoint: isAws ? undefined : `${scheme}://${url.host}`,
    credentials:
      url.username === '' ? undefined : { accessKeyId: decoded(url.username), secretAccessKey: decoded(url.password) },
  }
}

function gcsPlace(url: URL): ObjectsAddress {
  const given = options(url, ['endpoint'])
  if (!bucketForm.test(url.hostname) || !['', '/'].includes(url.pathname) || url.port !== '' || url.username !== '')
    refuse('must be gs://bucket with nothing after it. Google’s library finds the credentials')
  const endpoint = given.get('endpoint')
  if (endpoint !== undefined && !/^https?:\/\/[^/@?#]+\/?$/.test(endpoint))
    refuse('must have endpoint=http://host:port or endpoint=https://host:port')
  const base = endpoint?.replace(/\/$/, '')
  return {
    provider: 'gcs',
    shown: base === undefined ? `gs://${url.hostname}` : `gs://${url.hostname} at ${base.replace(/^https?:\/\//, '')}`,
    bucket: url.hostname,
    endpoint: base,
  }
}

function filesPlace(folder: string): ObjectsAddress {
  if (folder === '') refuse('must name a folder after file:')
  return { provider: 'files', shown: folder, folder: resolve(folder) }
}

/**
 * Parses KP_OBJECTS_URL: `file:…`, `s3://key:secret@host:port/bucket?region=…&tls=false&path_style=true`, `s3://bucket?region=…` (AWS),
 * or `gs://bucket`, with `?endpoint=` for another server than Google's. Without it: the folder `objects` of the data folder. @throws
 * Error with a message for the operator
 */
export function objectsAddress(url: string | undefined, dataDir: string): ObjectsAddress {
  if (url === undefined) return filesPlace(`${dataDir}/objects`)
  if (url.startsWith('file:')) {
    const path = url.slice('file:'.length)
    return filesPlace(path.startsWith('//') && isAbsolute(path.slice(2)) ? fileURLToPath(url) : path)
  }
  if (!URL.canParse(url)) refuse('is not a URL; in a key or secret write %2F for a slash, %40 for @, %3A for a colon')
  const parsed = new URL(url)
  if (parsed.hash !== '') refuse('must not contain #. In a secret, write %23 instead')
  if (parsed.protocol === 's3:') return s3Place(parsed)
  if (parsed.protocol === 'gs:') return gcsPlace(parsed)
  return refuse('must be file:<folder>, s3://… or gs://…')
}
