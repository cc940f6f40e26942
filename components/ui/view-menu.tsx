'use client'

import { Settings2 } from 'lucide-react'
import { useTranslations } from 'next-intl'
import { Button } from './button.tsx'
import { csvOf, saveCsv } from './csv.ts'
import { Menu } from './menu.tsx'
import type { MenuItem } from './menu-drawn.tsx'
import type { ShownColumn } from './table-column.ts'
import type { TableView } from './table-view.ts'

interface ViewMenuProps<Row> {
  name: string
  columns: readonly ShownColumn<Row>[]
  /** The visible columns and the sorted rows, for the export. */
  shown: { columns: readonly ShownColumn<Row>[]; rows: readonly Row[] }
  view: TableView
  onView: (changes: Partial<TableView>) => void
}

/** Chooses columns and density of a table, and exports what it shows. */
export function ViewMenu<Row>({ name, columns, shown, view, onView }: ViewMenuProps<Row>) {
  const t = useTranslations('common.table')
  const visible = new Set(shown.columns.map(({ key }) => key))
  const toggle = (key: string) =>
    onView({
      toggled: view.toggled.includes(key) ? view.toggled.filter((one) => one !== key) : [...view.toggled, key],
    })
  const choosable = columns.filter(({ main, isTitleHidden }) => !main && !isTitleHidden)
  const items: MenuItem[] = [
    ...choosable.map(({ key, title }, index) => ({
      key,
      label: title,
      isChecked: visible.has(key),
      onSelect: () => toggle(key),
      ...(index === 0 && { group: t('columns') }),
    })),
    {
      key: 'compact',
      label: t('compact'),
      group: t('density'),
      isChecked: view.density === 'compact',
      onSelect: () => onView({ density: view.density === 'compact' ? 'comfortable' : 'compact' }),
    },
    ...(shown.columns.some(({ value }) => value)
      ? [
          {
            key: 'csv',
            label: t('csv', { count: shown.rows.length }),
            group: t('export'),
            isDisabled: shown.rows.length === 0,
            onSelect: () => saveCsv(name, csvOf(shown.columns, shown.rows)),
          },
        ]
      : []),
  ]
  return (
    <Menu
      trigger={
        <Button tone="plain" size="small">
          <Settings2 aria-hidden className="size-4" />
          {t('view')}
        </Button>
      }
      items={items}
    />
  )
}
