'use client'

import { useNow, useTranslations } from 'next-intl'
import { useState } from 'react'
import { isolated } from '#components/agents/names.ts'
import { useApiMutation } from '#components/frame/api-query.ts'
import { Alert } from '#components/ui/alert.tsx'
import { Confirm } from '#components/ui/confirm.tsx'
import { Select } from '#components/ui/field.tsx'
import { Time } from '#components/ui/time.tsx'
import { KeyDialog } from './key-dialog.tsx'
import { type ListedTokenRow, rotateAt, tokenPaths } from './tokens.ts'

const minute = 60_000
/** Milliseconds during which the old key still works. */
const overlaps = {
  '0s': 0,
  '1m': minute,
  '15m': 15 * minute,
  '1h': 60 * minute,
  '6h': 360 * minute,
  '24h': 1_440 * minute,
}
type Overlap = keyof typeof overlaps
const names: Overlap[] = ['0s', '1m', '15m', '1h', '6h', '24h']

/** Replaces the key of a token, with an overlap in which both keys work. */
export function Rotation({ token, onClose }: { token: ListedTokenRow; onClose: () => void }) {
  const t = useTranslations('tokens.rotation')
  const keys = useTranslations('tokens.key')
  const now = useNow({ updateInterval: minute })
  const [overlap, setOverlap] = useState<Overlap>('1h')
  const [rotatedAt, setRotatedAt] = useState<Date>()
  const rotate = useApiMutation(rotateAt, { touches: tokenPaths })
  const end = (from: Date): string => {
    const chosen = new Date(from.getTime() + overlaps[overlap]).toISOString()
    return token.expires_at !== null && token.expires_at < chosen ? token.expires_at : chosen
  }
  const made = rotate.data?.data
  if (made)
    return (
      <KeyDialog apiKey={made.api_key || undefined} title={keys('title')} replayed={keys('replayed')} onClose={onClose}>
        <p>
          {overlap === '0s'
            ? keys('rotatedNow')
            : keys.rich('rotated', { time: () => <Time at={end(rotatedAt ?? now)} relative /> })}
        </p>
      </KeyDialog>
    )
  const isFull = rotate.problem?.code === 'conflict'
  return (
    <Confirm
      open
      onOpenChange={(open) => !open && onClose()}
      tone="main"
      title={t('title', { name: isolated(token.name ?? token.key_prefix) })}
      consequences={<p>{t('lead')}</p>}
      action={t('action')}
      needsApproval={token.scopes.includes('admin')}
      change={isFull ? { ...rotate, problem: undefined } : rotate}
      onConfirm={() =>
        rotate.begin({ params: { id: token.id }, body: { overlap } }, ({ data }) =>
          setRotatedAt(new Date(data.created_at)),
        )
      }
    >
      {isFull && <Alert tone="danger" title={t('full')} isLive />}
      <Select
        label={t('overlap')}
        name="overlap"
        value={overlap}
        onChange={({ target }) => setOverlap(names.find((name) => name === target.value) ?? '0s')}
        options={names.map((name) => ({ value: name, title: t(`overlaps.${name}`) }))}
        hint={
          <>
            {t('overlapText')}
            {overlap !== '0s' && <> {t.rich('ends', { time: () => <Time at={end(now)} /> })}</>}
          </>
        }
      />
    </Confirm>
  )
}
