/** Content that is the same for everybody, in memory in every encoding in which it is sent. */
export interface FixedContent {
  mediaType: string
  etag: string
  encodings: Record<'br' | 'gzip' | 'identity', Uint8Array>
}
/** The response of a use case. */
export interface Answer {
  status: number
  body: unknown
  headers: Record<string, string>
  stream?: AsyncIterable<string | Uint8Array>
  fixed?: FixedContent
}
