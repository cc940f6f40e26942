import { z } from 'zod'
import { dataRegionForm } from './rules.ts'

/** A region that agents, projects and conversations can require. The installation's settings name those that can be chosen. */
export const DataRegion = z
  .string()
  .regex(dataRegionForm, 'takes eu or a country of two letters')
  .meta({ id: 'DataRegion', description: '`eu`, or a country of two letters that KP_DATA_REGIONS names' })
