/** What `handle` needs of a request, provided by the Fetch API and by the API server. */
export interface ApiRequest {
  method: string
  /** Absolute, or from the path on. */
  url: string
  headers: { get(name: string): string | null }
  body: AsyncIterable<Uint8Array> | null
}

/** The response to send. */
export interface ApiResponse {
  status: number
  headers: Record<string, string>
  body: string | Uint8Array | AsyncIterable<string | Uint8Array> | null
}

/** What the HTTP layer knows about the request. */
export interface Via {
  params: Record<string, string>
  /** The client's address, after trusted proxies. */
  address: string
  /** Whether it was received by the listener of KP_METRICS_LISTEN. */
  isMonitoring?: boolean
}
