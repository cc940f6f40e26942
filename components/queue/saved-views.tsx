'use client'

import { Bookmark } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { Dialog } from '#components/ui/dialog.tsx'
import { Field } from '#components/ui/field.tsx'
import { TextLink } from '#components/ui/text-link.tsx'
import { UndoLine } from '#components/ui/undo-line.tsx'
import { addressOf, type QueueFilterValues } from './filters.ts'
import { type SavedView, useSavedViews } from './stored-views.ts'

/** Named filters of one admin, stored in this browser. */
export function SavedViews({ filters, owner }: { filters: QueueFilterValues; owner: string }) {
  const t = useTranslations('queue.saved')
  const common = useTranslations('common')
  const [isOpen, setOpen] = useState(false)
  const [name, setName] = useState('')
  const [removed, setRemoved] = useState<SavedView>()
  const list = useRef<HTMLDivElement>(null)
  const { views, save, remove } = useSavedViews(owner)
  const toggle = (open: boolean) => {
    setOpen(open)
    if (!open) setRemoved(undefined)
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    event.stopPropagation()
    if (name.trim() === '') return
    save({ name: name.trim(), query: addressOf('', filters) })
    setRemoved(undefined)
    setName('')
  }
  return (
    <>
      <Button tone="plain" size="small" onClick={() => setOpen(true)}>
        <Bookmark aria-hidden className="size-4" />
        {t('button')}
      </Button>
      <Dialog open={isOpen} onOpenChange={toggle} title={t('button')} lead={t('lead')}>
        <div ref={list} tabIndex={-1} className="grid gap-5 outline-none">
          {removed && (
            <UndoLine
              key={removed.name}
              text={t('deleted', { name: removed.name })}
              onUndo={() => {
                save(removed)
                setRemoved(undefined)
                list.current?.focus()
              }}
            />
          )}
          {views.length > 0 && (
            <ul className="divide-y divide-line border-y border-line">
              {views.map((view) => (
                <li key={view.name} className="flex items-center justify-between gap-3 py-1.5">
                  <TextLink
                    href={`/admin/requests${view.query}`}
                    onClick={() => toggle(false)}
                    className="min-w-0 wrap-anywhere"
                  >
                    <bdi>{view.name}</bdi>
                  </TextLink>
                  <Button
                    tone="quiet"
                    size="small"
                    aria-label={t('delete', { name: view.name })}
                    onClick={() => {
                      remove(view.name)
                      setRemoved(view)
                    }}
                  >
                    ×
                  </Button>
                </li>
              ))}
            </ul>
          )}
          <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
            <div className="grow">
              <Field label={t('name')} value={name} maxLength={80} onChange={({ target }) => setName(target.value)} />
            </div>
            <Button type="submit" aria-disabled={name.trim() === ''}>
              {common('save')}
            </Button>
          </form>
        </div>
      </Dialog>
    </>
  )
}
