import { currentConfig, ErasedThread, type Recorder, threadOf } from './recorder.ts'

export interface StoredObject {
  key: string
  body: Uint8Array
  contentType?: string
}
/** Puts and deletes objects of one bucket. {@link s3Bucket} and {@link gcsBucket} make it from the official clients. */
export interface Bucket {
  put(object: StoredObject): Promise<void>
  /** Deletes all versions of the object. */
  remove(key: string): Promise<void>
}
export interface UploadOptions {
  contentType?: string
  /** By default the thread of the LangGraph run. */
  thread?: string
}

const uploadedName = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?:\.\w{1,10})?$/
const extensionForm = /\.\w{1,10}$/
const textTypes = /^(?:text\/|application\/(?:json|xml|x-ndjson|yaml))/
/** Characters of a text that are compared with the messages. */
const mostCompared = 1_000_000

/** Uploads to S3 or GCS that an erasure finds: each object is reported with the message of the user with which it was uploaded, and with those that it quotes. */
export class RecordedUploads {
  readonly #bucket: Bucket
  readonly #recorder: Recorder

  constructor(bucket: Bucket, recorder: Recorder) {
    this.#bucket = bucket
    this.#recorder = recorder
  }

  /**
   * Uploads an object and returns its key. The key contains the id of the project, so that it provably belongs to it, and of the name only the
   * extension: a name may quote a person, and the registry keeps the keys that were reported.
   * @throws ErasedThread if the thread may not be written; the object is deleted
   */
  async upload(name: string, body: Uint8Array | string, options: UploadOptions = {}): Promise<string> {
    const { contentType, thread = threadOf(currentConfig()) } = options
    const extension = extensionForm.exec(name)?.[0].toLowerCase() ?? ''
    const key = `${this.#recorder.project}/${crypto.randomUUID()}${extension}`
    const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : body
    const forget = { [key]: () => this.#bucket.remove(key) }
    if (thread !== undefined) await this.#recorder.admit(thread, forget)
    await this.#bucket.put({ key, body: bytes, ...(contentType !== undefined && { contentType }) })
    if (thread === undefined) return key
    const isText = typeof body === 'string' || (contentType !== undefined && textTypes.test(contentType))
    const text = isText ? new TextDecoder().decode(bytes.subarray(0, 4 * mostCompared)).slice(0, mostCompared) : ''
    try {
      await this.#recorder.point(thread, { store: 'objects', ref: key, text, isOfTurn: true }, forget)
    } catch (error) {
      if (error instanceof ErasedThread) await this.#bucket.remove(key)
      throw error
    }
    return key
  }

  /**
   * Deletes all versions of an object that {@link upload} returned the key of, in any process of the application.
   * @throws RangeError for any other key: the bucket may also contain files of others
   */
  async delete(key: string): Promise<void> {
    const [project, name, ...more] = key.split('/')
    if (project !== this.#recorder.project || more.length > 0 || !uploadedName.test(name ?? ''))
      throw new RangeError('This key is not of an upload of the project. Nothing was deleted.')
    await this.#bucket.remove(key)
  }
}

/** What it needs of the class `S3` of `@aws-sdk/client-s3`. */
export interface S3Client {
  putObject(input: { Bucket: string; Key: string; Body: Uint8Array; ContentType?: string }): Promise<unknown>
  deleteObject(input: { Bucket: string; Key: string; VersionId?: string }): Promise<unknown>
  listObjectVersions(input: { Bucket: string; Prefix: string }): Promise<{
    Versions?: S3Version[] | undefined
    DeleteMarkers?: S3Version[] | undefined
  }>
}
interface S3Version {
  Key?: string | undefined
  VersionId?: string | undefined
}

/** A bucket of S3, R2 or MinIO, with versions or without. */
export const s3Bucket = (client: S3Client, bucket: string): Bucket => ({
  async put({ key, body, contentType }) {
    await client.putObject({
      Bucket: bucket,
      Key: key,
      Body: body,
      ...(contentType !== undefined && { ContentType: contentType }),
    })
  },
  async remove(key) {
    // The key is random, so all of its versions are on the first page.
    const { Versions = [], DeleteMarkers = [] } = await client.listObjectVersions({ Bucket: bucket, Prefix: key })
    for (const { Key, VersionId } of [...Versions, ...DeleteMarkers])
      if (Key === key)
        await client.deleteObject({
          Bucket: bucket,
          Key: key,
          ...(VersionId !== undefined && { VersionId }),
        })
  },
})

/** What it needs of a bucket of `@google-cloud/storage`. */
export interface GcsBucket {
  file(key: string): { save(body: Uint8Array, options: { resumable: boolean; contentType?: string }): Promise<unknown> }
  getFiles(query: { prefix: string; versions: boolean }): Promise<[GcsFile[], ...unknown[]]>
}
interface GcsFile {
  name: string
  delete(options: { ignoreNotFound: boolean }): Promise<unknown>
}

/** A bucket of Google Cloud Storage, with versions or without. */
export const gcsBucket = (bucket: GcsBucket): Bucket => ({
  async put({ key, body, contentType }) {
    await bucket.file(key).save(body, { resumable: false, ...(contentType !== undefined && { contentType }) })
  },
  async remove(key) {
    const [files] = await bucket.getFiles({ prefix: key, versions: true })
    for (const file of files) if (file.name === key) await file.delete({ ignoreNotFound: true })
  },
})
