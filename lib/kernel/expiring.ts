/** Retention periods by visibility, in days since the record was stored; null: unlimited. */
export interface Periods {
  network: number | null
  org: number | null
  private: number | null
}
/** Data of a domain that expires: rows with a visibility, an author, and the time when they were stored. */
export interface Expiring {
  /** The name in the deletion log: `knowledge.units`, … */
  name: string
  /** The resource type of one record in the audit log: `knowledge`, … */
  resourceType: string
  /** The erasure scope of one record in the deletion log. */
  scope: 'unit' | 'skill'
  /** How many records have expired at `now`, by visibility; those under legal hold are counted separately. */
  due(periods: Periods, now: Date): Promise<Counts>
  /** How many expired records remain because of a legal hold. It reads only held records, however many have expired. */
  held(periods: Periods, now: Date): Promise<number>
  /** The oldest `limit` records of each visibility that have expired at `now` and that no legal hold covers. */
  list(periods: Periods, now: Date, limit: number): Promise<ExpiringRecord[]>
  /**
   * Deletes expired records that no legal hold covers, oldest first: two members of a WITH list, to which the sweep adds the audit and
   * deletion rows. `due (stored_at)` is what it selected, `gone (id)` what it deleted. $1 is the visibility; $2 and $3 bound the time of
   * storage, both inclusive; $4 is the present; $5 is the maximum number.
   */
  removal: string
}
export interface ExpiringRecord {
  id: string
  visibility: keyof Periods
  /** The author. */
  agentId: string
  storedAt: Date
}
export interface Counts {
  network: number
  org: number
  private: number
  /** Retained because of a legal hold. */
  held: number
}
