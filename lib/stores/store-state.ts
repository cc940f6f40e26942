/** What a store answers when it is asked how it is. */
export interface StoreState {
  state: 'ok' | 'down'
  /** Of one round trip, in milliseconds. */
  latency: number
  /** Without addresses and credentials. */
  detail?: string
}
