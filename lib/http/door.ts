/** What `handle` needs of a request; both the Fetch API's and the front's have it. */
export interface DoorRequest {
  method: string
  /** Absolute, or from the path on. */
  url: string
  headers: { get(name: string): string | null }
  body: AsyncIterable<Uint8Array> | null
}

/** What a door sends. */
export interface DoorAnswer {
  status: number
  headers: Record<string, string>
  body: string | AsyncIterable<string | Uint8Array> | null
}

/** What the door itself knows of the request. */
export interface Via {
  params: Record<string, string>
  /** The client's address, after trusted proxies. */
  address: string
  /** Whether it came to the listener of KP_METRICS_LISTEN. */
  isMonitoring?: boolean
}
