import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'

const Settings = z
  .strictObject({
    anonymous_reading: z
      .boolean()
      .meta({ description: 'Whether units with the visibility `network` can be read without a token' }),
  })
  .meta({ id: 'Settings' })

const resource = { resourceType: 'settings' }
const output = z.strictObject({ data: Settings })

export const readSettings = operation({
  id: 'readSettings',
  method: 'get',
  path: '/v1/settings',
  summary: 'Get the settings that admins can change at run time',
  permission: 'settings:admin',
  audit: { action: 'read', ...resource },
  limit: 'read',
  status: 200,
  output,
})

export const editSettings = operation({
  id: 'editSettings',
  method: 'patch',
  path: '/v1/settings',
  summary: 'Change settings',
  description: 'Omitted fields remain unchanged. Changes reach all processes within a second.',
  permission: 'settings:admin',
  audit: { action: 'update', ...resource },
  limit: 'write',
  status: 200,
  body: Settings.partial(),
  output,
})
