import { app, route } from '#lib/app.ts'

export const PUT = route(app.snapshots.storeState)
export const DELETE = route(app.snapshots.deleteState)
