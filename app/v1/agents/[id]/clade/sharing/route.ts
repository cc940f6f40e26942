import { app, route } from '#lib/app.ts'

export const PUT = route(app.clades.setSharing)
