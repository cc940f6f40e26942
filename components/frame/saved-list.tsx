'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { CopyLink, LinkCopy } from '#components/ui/copy-link.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { UndoLine } from '#components/ui/undo-line.tsx'
import { type Endpoint, request } from '#lib/client/request.ts'
import type { deleteSearch, listSearches, saveSearch } from '#lib/domains/audit/contract.ts'
import type { SavedPage } from '#lib/domains/audit/rules.ts'

const path = '/api/audit/searches'
/** The path of the page whose filters are saved. */
const paths: Record<SavedPage, string> = {
  audit: '/admin/audit',
  requests: '/admin/requests',
  'deletion-log': '/admin/deletion-log',
}
const listAt: Endpoint<typeof listSearches> = { method: 'get', path }
const saveAt: Endpoint<typeof saveSearch> = { method: 'post', path }
const deleteAt: Endpoint<typeof deleteSearch> = { method: 'delete', path: '/api/audit/searches/{id}' }

/** The saved filters of a page with their links, and a field to save the current ones. */
export function SavedList({ page, search, onLeave }: { page: SavedPage; search: string; onLeave: () => void }) {
  const t = useTranslations('frame.saved')
  const list = useApiQuery(listAt, { query: { page } })
  const saving = useApiMutation(saveAt, { touches: [path], isQuiet: true })
  const deleting = useApiMutation(deleteAt, { touches: [path], isQuiet: true })
  const [name, setName] = useState('')
  const [removed, setRemoved] = useState<{ id: string; name: string; query: string }>()
  const box = useRef<HTMLDivElement>(null)
  const problem = list.problem ?? saving.problem ?? deleting.problem
  const save = (event: FormEvent) => {
    event.preventDefault()
    setRemoved(undefined)
    if (name.trim() !== '') saving.begin({ body: { page, name: name.trim(), query: search } }, () => setName(''))
  }
  const undo = ({ name: called, query }: { name: string; query: string }) =>
    saving.begin({ body: { page, name: called, query } }, () => {
      setRemoved(undefined)
      box.current?.focus()
    })
  return (
    <div ref={box} tabIndex={-1} className="grid gap-5 outline-none">
      {problem && <ProblemAlert problem={problem} />}
      {removed && (
        <UndoLine key={removed.id} text={t('deleted', { name: removed.name })} onUndo={() => undo(removed)} />
      )}
      {!list.data && !list.problem && <Skeleton className="h-9" />}
      {list.data?.data.length === 0 && <p className="text-quiet">{t('none')}</p>}
      {list.data && list.data.data.length > 0 && (
        <ul className="divide-y divide-line border-y border-line">
          {list.data.data.map(({ id, name: called, query }) => (
            <li key={id} className="flex items-center justify-between gap-3 py-1.5">
              <TextLink href={`${paths[page]}?${query}`} onClick={onLeave} className="min-w-0 grow wrap-anywhere">
                <bdi>{called}</bdi>
              </TextLink>
              <LinkCopy path={`${paths[page]}?${query}`} what={t('copy', { name: called })} />
              <Button
                tone="ghost"
                size="small"
                aria-label={t('deleteNamed', { name: called })}
                aria-disabled={deleting.isPending}
                onClick={() => deleting.begin({ params: { id } }, () => setRemoved({ id, name: called, query }))}
              >
                {t('delete')}
              </Button>
            </li>
          ))}
        </ul>
      )}
      {search !== '' && (
        <form onSubmit={save} className="flex flex-wrap items-end gap-2">
          <div className="grow">
            <Field label={t('name')} value={name} maxLength={80} onChange={({ target }) => setName(target.value)} />
          </div>
          <Button type="submit" aria-disabled={saving.isPending || name.trim() === ''}>
            {t('save')}
          </Button>
        </form>
      )}
      {search !== '' && (
        <p>
          <CopyLink path={`${paths[page]}?${search}`} />
        </p>
      )}
      <BrowserViews page={page} known={list.data?.data ?? []} onKept={() => void list.refetch()} />
      <p role="status" className="sr-only">
        {saving.isSuccess ? t('saved') : ''}
      </p>
    </div>
  )
}

/** Earlier versions stored the views of the requests in the browser. They can be moved to the account. */
const browserKey = /^request-views:/
function browserViews(): { key: string; name: string; query: string }[] {
  try {
    return Object.keys(localStorage)
      .filter((key) => browserKey.test(key))
      .flatMap((key) => {
        const stored: unknown = JSON.parse(localStorage.getItem(key) ?? '[]')
        return (Array.isArray(stored) ? stored : []).flatMap((view: { name?: unknown; query?: unknown }) =>
          typeof view.name === 'string' && typeof view.query === 'string' && view.query.length > 1
            ? [{ key, name: view.name, query: view.query.slice(1) }]
            : [],
        )
      })
  } catch {
    // Storage is disabled, or holds something else.
    return []
  }
}

function BrowserViews({
  page,
  known,
  onKept,
}: {
  page: SavedPage
  known: readonly { name: string }[]
  onKept: () => void
}) {
  const t = useTranslations('frame.saved')
  const [views, setViews] = useState(() => (page === 'requests' ? browserViews() : []))
  if (views.length === 0) return null
  const keep = async () => {
    for (const { name, query } of views.filter((view) => !known.some((one) => one.name === view.name))) {
      try {
        await request(saveAt, { body: { page, name, query } })
      } catch {
        // Stays in the browser.
        return onKept()
      }
    }
    for (const { key } of views) localStorage.removeItem(key)
    setViews([])
    onKept()
  }
  return (
    <p className="flex flex-wrap items-center gap-2 text-sm text-quiet">
      {t('local', { count: views.length })}
      <Button tone="plain" size="small" onClick={() => void keep()}>
        {t('keep')}
      </Button>
    </p>
  )
}
