'use client'

import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { useApiMutation, useApiQuery } from '#components/frame/api-query.ts'
import { Button } from '#components/ui/button.tsx'
import { Field } from '#components/ui/field.tsx'
import { ProblemAlert } from '#components/ui/problem-alert.tsx'
import { Skeleton } from '#components/ui/skeleton.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { UndoLine } from '#components/ui/undo-line.tsx'
import type { Endpoint } from '#lib/client/request.ts'
import type { deleteSearch, listSearches, saveSearch } from '#lib/domains/audit/contract.ts'

const path = '/api/audit/searches'
const listAt: Endpoint<typeof listSearches> = { method: 'get', path }
const saveAt: Endpoint<typeof saveSearch> = { method: 'post', path }
const deleteAt: Endpoint<typeof deleteSearch> = { method: 'delete', path: '/api/audit/searches/{id}' }

/** The saved filters, with a field to save the current ones. */
export function SearchList({ search, onLeave }: { search: string; onLeave: () => void }) {
  const t = useTranslations('audit.saved')
  const list = useApiQuery(listAt)
  const saving = useApiMutation(saveAt, { touches: [path], isQuiet: true })
  const deleting = useApiMutation(deleteAt, { touches: [path], isQuiet: true })
  const [name, setName] = useState('')
  const [removed, setRemoved] = useState<{ id: string; name: string; query: string }>()
  const box = useRef<HTMLDivElement>(null)
  const problem = list.problem ?? saving.problem ?? deleting.problem
  const save = (event: FormEvent) => {
    event.preventDefault()
    setRemoved(undefined)
    if (name.trim() !== '') saving.begin({ body: { name: name.trim(), query: search } }, () => setName(''))
  }
  const undo = ({ name: called, query }: { name: string; query: string }) =>
    saving.begin({ body: { name: called, query } }, () => {
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
              <TextLink href={`/admin/audit?${query}`} onClick={onLeave} className="min-w-0 [overflow-wrap:anywhere]">
                <bdi>{called}</bdi>
              </TextLink>
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
      <p role="status" className="sr-only">
        {saving.isSuccess ? t('saved') : ''}
      </p>
    </div>
  )
}
