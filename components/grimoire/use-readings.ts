'use client'

import { useEffect, useRef, useState } from 'react'
import type { EntryHead } from '#lib/client/sealing/entry.ts'
import type { GrimoireEntry } from './endpoints.ts'
import type { OpenVault } from './use-vault.ts'
import { vaultCode } from './vault.ts'
import type { Read, VaultCode } from './vault-protocol.ts'

const none: ReadonlyMap<string, Read> = new Map()

const headOf = ({ id, agent_id, kind }: GrimoireEntry): EntryHead => ({ id, agent: agent_id, kind, scope: 'private' })
/** Each envelope has its own nonce; an edited entry has a new one. */
const nonceOf = ({ envelope }: GrimoireEntry): string | undefined => envelope?.nonce

/** Decrypts private entries in the vault as their rows load. Nothing decrypted remains here after the vault locks. */
export function useReadings({ isOpen, ask }: Pick<OpenVault, 'isOpen' | 'ask'>, rows: readonly GrimoireEntry[]) {
  const [readings, setReadings] = useState(none)
  const [fault, setFault] = useState<VaultCode>()
  const asked = useRef(new Set<string>())
  useEffect(() => {
    if (isOpen) return
    asked.current = new Set()
    setReadings(none)
    setFault(undefined)
  }, [isOpen])
  useEffect(() => {
    if (!isOpen) return
    const entries = rows.flatMap((row) => {
      const nonce = nonceOf(row)
      return nonce === undefined || asked.current.has(nonce)
        ? []
        : [{ nonce, head: headOf(row), envelope: row.envelope }]
    })
    if (entries.length === 0) return
    const known = asked.current
    for (const { nonce } of entries) known.add(nonce)
    ask('read', { entries: entries.map(({ head, envelope }) => ({ head, envelope })) }).then(
      (read) => {
        // The vault locked meanwhile and may have opened again: these entries are then read again.
        if (known !== asked.current) return
        setReadings((before) => {
          const after = new Map(before)
          for (const [index, { nonce }] of entries.entries()) {
            const one = read[index]
            if (one) after.set(nonce, one)
          }
          return after
        })
      },
      (error: unknown) => known === asked.current && setFault(vaultCode(error)),
    )
  })
  return {
    fault: isOpen ? fault : undefined,
    readingOf: (row: GrimoireEntry): Read | undefined => {
      const nonce = nonceOf(row)
      return isOpen && nonce !== undefined ? readings.get(nonce) : undefined
    },
  }
}
