"""A bare recurrent translation model of torch's own modules: what one gets without a toolkit."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

PAD = 0


class BareRecurrent(nn.Module):
    """LSTM encoder, LSTM cell with general attention and input feeding; returns logits at the unpadded positions.

    One layer, target embeddings tied to the output layer, dropout on embeddings and on each layer's output; no column
    is left out.

    Args:
        source_types, target_types: sizes of the vocabularies.
        d_model: width of embeddings and states.
        dropout: share of units dropped.
    """

    def __init__(self, source_types: int, target_types: int, d_model: int, dropout: float) -> None:
        super().__init__()
        self.source_embedding = nn.Embedding(source_types, d_model)
        self.target_embedding = nn.Embedding(target_types, d_model)
        self.encoder = nn.LSTM(d_model, d_model, batch_first=True)
        self.decoder = nn.LSTMCell(2 * d_model, d_model)
        self.score = nn.Linear(d_model, d_model, bias=False)
        self.combine = nn.Linear(2 * d_model, d_model, bias=False)
        self.bias = nn.Parameter(torch.zeros(target_types))
        self.dropout = nn.Dropout(dropout)

    def forward(self, source: Tensor, target_input: Tensor, wanted: Tensor) -> Tensor:
        lengths = (source != PAD).sum(1)
        embedded = self.dropout(self.source_embedding(source))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        outputs, (h, c) = self.encoder(packed)
        memory, _ = pad_packed_sequence(outputs, batch_first=True, total_length=source.shape[1])
        memory, h, c = self.dropout(memory), h[0], c[0]
        keys = self.score(memory)
        padding = (source == PAD).unsqueeze(2)
        h_tilde = torch.zeros_like(h)
        states = []
        for word in self.dropout(self.target_embedding(target_input)).unbind(1):
            h, c = self.decoder(torch.cat((word, h_tilde), dim=1), (h, c))
            top = self.dropout(h)
            weights = (keys @ top.unsqueeze(2)).masked_fill(padding, -torch.inf).softmax(1)  # (B, S, 1)
            context = (weights * memory).sum(1)
            h_tilde = torch.tanh(self.combine(torch.cat((context, top), dim=1)))
            states.append(h_tilde)
        return F.linear(torch.stack(states, dim=1)[wanted], self.target_embedding.weight, self.bias)
