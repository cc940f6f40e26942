import { app, route } from '#lib/app.ts'

export const DELETE = route(app.erasing.eraseDocument)
export const GET = route(app.projects.readDocument)
