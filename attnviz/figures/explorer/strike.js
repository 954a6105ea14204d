// What is switched off looks the same in every picture: faded, and a link that is cut struck out; a typed weight has a ring.

export function fade(context, colour, [x, y, width, height]) {
  context.save();
  context.globalAlpha = 0.6;
  context.fillStyle = colour;
  context.fillRect(x, y, width, height);
  context.restore();
}

export function strike(context, colour, [x, y, width, height]) {
  context.strokeStyle = colour;
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x + 2, y + height - 2);
  context.lineTo(x + width - 2, y + 2);
  context.stroke();
}

export function ring(context, colour, [x, y, cell], thickness) {
  context.strokeStyle = colour;
  context.lineWidth = thickness;
  context.setLineDash([3, 2]);
  context.strokeRect(x + 2, y + 2, Math.max(cell - 4, 1), Math.max(cell - 4, 1));
  context.setLineDash([]);
}
