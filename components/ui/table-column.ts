import type { ReactNode } from 'react'

export interface ShownColumn<Row> {
  key: string
  title: string
  /** Without it, the cell shows the value. */
  cell?: (row: Row) => ReactNode
  /**
   * The value that sorting compares and the CSV export writes; times as ISO 8601. A column without it can be neither sorted nor exported.
   */
  value?: (row: Row) => string | number | boolean | null | undefined
  /** Sorts only where the server sorts, or not at all. */
  isUnsortable?: boolean
  numeric?: boolean
  /** Marks the cell that names the row: the row header, and the block heading on a phone. It cannot be hidden. */
  main?: boolean
  /** Shows the title only to screen readers. */
  isTitleHidden?: boolean
  /** Hidden until the reader shows it. */
  isHiddenAtFirst?: boolean
  /**
   * On a phone: at the right of the name, without its title where the value says what it is, or not at all because the record's page has
   * it. Otherwise it follows with its title.
   */
  phone?: 'beside' | 'plain' | 'hidden'
  /** The smallest width on wide screens. */
  minWidth?: 'short' | 'medium' | 'long'
}

/** A column key, with `-` before it for descending order. */
export type SortOrder = string

export const sortKeyOf = (order: SortOrder): string => order.replace(/^-/, '')
export const isDescending = (order: SortOrder): boolean => order.startsWith('-')
/** The next order of a column: ascending, descending, then as the rows arrive. */
export function nextOrder(order: SortOrder | null, key: string): SortOrder | null {
  if (order === key) return `-${key}`
  return order === `-${key}` ? null : key
}
