/** The health of a store. */
export interface StoreState {
  state: 'ok' | 'down'
  /** The duration of one round trip in milliseconds. */
  latency: number
  /** Never contains addresses or credentials. */
  detail?: string
}
