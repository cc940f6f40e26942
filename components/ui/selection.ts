'use client'

import { useMemo, useState } from 'react'

export interface Selection {
  chosen: ReadonlySet<string>
  toggle: (id: string) => void
  toggleAll: () => void
}

/** The selected rows among `ids`. Rows that are no longer shown are not selected. `range` selects from the last toggled row. */
export function useSelection(ids: readonly string[]) {
  const [all, setAll] = useState<ReadonlySet<string>>(new Set())
  const [anchor, setAnchor] = useState<string>()
  const chosen = useMemo(() => new Set(ids.filter((id) => all.has(id))), [ids, all])
  return {
    chosen,
    toggle(id: string) {
      setAnchor(id)
      setAll(new Set(chosen.has(id) ? [...chosen].filter((one) => one !== id) : [...chosen, id]))
    },
    range(id: string) {
      const from = ids.indexOf(anchor ?? id)
      const to = ids.indexOf(id)
      setAnchor(id)
      if (from < 0 || to < 0) return setAll(new Set([...chosen, id]))
      setAll(new Set([...chosen, ...ids.slice(Math.min(from, to), Math.max(from, to) + 1)]))
    },
    toggleAll: () => setAll(new Set(chosen.size === ids.length ? [] : ids)),
    only: (kept: readonly string[]) => setAll(new Set(kept)),
    clear: () => setAll(new Set()),
  }
}
